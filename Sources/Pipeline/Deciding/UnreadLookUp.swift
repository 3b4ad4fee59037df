import BellhopRules
import Postgres
import Store

/// Looks up what people have not read, where their pushes show it.
struct UnreadLookUp: Sendable {
    let store: any PipelineStore
    let catalogs: CatalogSet

    /// Adds what is unread of those in `counted`, nil for all, who have a device, among those of `platforms`, on which their
    /// app shows the number.
    ///
    /// Counting reads a part of the inbox: who has no such device, or has pushes switched off, does without. If the database
    /// has failed on the count twice, these pushes go out without a number: the next one corrects it.
    func add(
        to people: inout [RecipientKey: Recipient],
        of counted: Set<RecipientKey>?,
        on platforms: Set<DevicePlatform> = Set(DevicePlatform.allCases),
        _ batch: Batch
    ) async {
        if let counted, counted.isEmpty { return }
        // Whether somebody has such a device is known sooner than whether they are in a set.
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

    /// What the number on an icon does not count, by the catalogue's word.
    private func typesWithoutNumber(of people: some Sequence<RecipientKey>) -> [AppID: [EventType]] {
        var types: [AppID: [EventType]] = [:]
        for app in Set(people.map(\.app)) {
            types[app] = catalogs[app]?.types.filter { !$0.setsBadge }.map(\.type)
        }
        return types
    }
}
