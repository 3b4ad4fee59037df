import BellhopRules
import Postgres
import Store

/// Reads the numbers of unread notifications for users whose pushes show them.
struct UnreadLookUp: Sendable {
    let store: any PipelineStore
    let catalogs: CatalogSet

    /// Adds the numbers for the users in `counted`, or all users if it is `nil`, who have a device on one of
    /// `platforms` on which their app shows the number.
    ///
    /// Counting reads a part of the inbox, so users without such a device, or with pushes disabled, are left out. If
    /// the database fails on the count twice, the pushes are sent without a number, and the next one corrects it.
    func add(
        to people: inout [RecipientKey: Recipient],
        of counted: Set<RecipientKey>?,
        on platforms: Set<DevicePlatform> = Set(DevicePlatform.allCases),
        _ batch: Batch
    ) async {
        if let counted, counted.isEmpty { return }
        // The check for such a device is faster than the check for membership in the set.
        let shown = people.filter { key, person in
            guard person.pushEnabled, !person.devices.isEmpty, let catalog = catalogs[key.app] else { return false }
            return person.devices.contains { device in
                catalog.badgePlatforms.contains(device.platform) && platforms.contains(device.platform)
            } && counted?.contains(key) != false
        }
        guard !shown.isEmpty else { return }
        let (readers, types) = (Array(shown.keys), typesWithoutNumber(of: shown.keys))
        let unread = await batch.persistence.tryTwice { [store] () throws(PostgresError) in
            try await store.unread(of: readers, leavingOut: types)
        }
        guard let unread else {
            batch.persistence.context.logger.warning(
                "unread notifications cannot be counted, sending without the number",
                ["users": .integer(readers.count)]
            )
            return
        }
        for (key, unread) in unread { people[key]?.unread = unread }
    }

    /// Returns the types that the catalogue excludes from the number.
    private func typesWithoutNumber(of people: some Sequence<RecipientKey>) -> [AppID: [EventType]] {
        var types: [AppID: [EventType]] = [:]
        for app in Set(people.map(\.app)) {
            types[app] = catalogs[app]?.types.filter { !$0.setsBadge }.map(\.type)
        }
        return types
    }
}
