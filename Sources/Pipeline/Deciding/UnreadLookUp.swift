import BellhopRules
import Store

/// Reads the numbers of unread notifications for users whose pushes show them.
struct UnreadLookUp: Sendable {
    let store: any WorkerDatabase
    let catalogs: CatalogSet

    /// Adds the numbers for the users in `counted`, or all users if it is `nil`, who have a device on one of
    /// `platforms` on which their app shows the number.
    ///
    /// Counting reads a part of the inbox, so users without such a device, or with pushes disabled, are left out. If
    /// the database fails on the count twice, the pushes are sent without a number, and the next one corrects it.
    ///
    /// With `dividing`, a failed count is repeated for parts of the users within ``patience``, since a message that
    /// consists of the number alone is not sent without it.
    func add(
        to people: inout [UserKey: Recipient],
        of counted: Set<UserKey>?,
        on platforms: Set<DevicePlatform> = Set(DevicePlatform.allCases),
        dividing: Bool = false,
        _ batch: Batch
    ) async {
        if let counted, counted.isEmpty { return }
        // The check for such a device is faster than the check for membership in the set.
        let readers = people.indices.filter { place in
            guard Self.hasDevice(on: platforms, people.values[place], catalogs[people.keys[place].app]) else {
                return false
            }
            return counted?.contains(people.keys[place]) != false
        }.map { people.keys[$0] }
        guard !readers.isEmpty else { return }
        let types = typesWithoutNumber(of: readers)
        let context = batch.persistence.context
        var (open, uncounted, end) = ([readers], 0, ContinuousClock.Instant?.none)
        while !open.isEmpty {
            let part = open.removeFirst()
            let unread = await batch.persistence.tryAtMost(dividing ? 1 : 2) { [store] () throws(StoreError) in
                try await store.unread(of: part, leavingOut: types)
            }
            if unread == nil, end == nil { end = context.time.steady() + Self.patience }
            if let unread {
                for (key, unread) in unread { people[key]?.unread = unread }
            } else if dividing, part.count > 1, let end, context.time.steady() < end {
                open += [Array(part[..<(part.count / 2)]), Array(part[(part.count / 2)...])]
            } else {
                uncounted += part.count
            }
        }
        guard uncounted > 0 else { return }
        context.logger.warning(
            "unread notifications cannot be counted, sending without the number",
            ["users": .integer(uncounted)]
        )
    }

    /// Whether a push to the user may show the number.
    private static func hasDevice(
        on platforms: Set<DevicePlatform>,
        _ person: Recipient,
        _ catalog: Catalog?
    ) -> Bool {
        guard person.pushEnabled, !person.devices.isEmpty, let catalog else { return false }
        for index in person.devices.indices {
            let platform = person.devices[index].platform
            if catalog.badgePlatforms.contains(platform), platforms.contains(platform) { return true }
        }
        return false
    }

    /// The time for which a count is divided after its first failure.
    private static let patience = Duration.seconds(30)

    /// Returns the types that the catalogue excludes from the number.
    private func typesWithoutNumber(of people: some Sequence<UserKey>) -> [AppID: [EventType]] {
        var types: [AppID: [EventType]] = [:]
        for app in Set(people.map(\.app)) {
            types[app] = catalogs[app]?.uncountedTypes
        }
        return types
    }
}
