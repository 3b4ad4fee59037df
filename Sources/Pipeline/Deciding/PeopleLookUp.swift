import BellhopRules
import Postgres
import Store

/// Looks up the people of whom the rules are asked, and what they have not read where their pushes show it.
struct PeopleLookUp: Sendable {
    let store: any PipelineStore
    let catalogs: CatalogSet

    /// One round trip, and a second one for those in `counted` who have a device, among those of `platforms`, on which
    /// their app shows the number.
    ///
    /// Counting reads a part of the inbox: who has no such device, or has pushes switched off, does without.
    func find(
        _ keys: Set<RecipientKey>,
        counting counted: Set<RecipientKey>,
        on platforms: Set<DevicePlatform> = Set(DevicePlatform.allCases)
    ) async throws(PostgresError) -> [RecipientKey: Recipient] {
        guard !keys.isEmpty else { return [:] }
        var people = try await store.recipients(of: keys)
        guard !counted.isEmpty else { return people }
        // Whether somebody has such a device is known sooner than whether they are in a set.
        let shown = people.filter { key, person in
            guard person.pushEnabled, !person.devices.isEmpty, let catalog = catalogs[key.app] else { return false }
            return person.devices.contains { device in
                catalog.badgePlatforms.contains(device.platform) && platforms.contains(device.platform)
            } && counted.contains(key)
        }
        guard !shown.isEmpty else { return people }
        let unread = try await store.unread(of: Array(shown.keys), leavingOut: typesWithoutNumber(of: shown.keys))
        for (key, unread) in unread { people[key]?.unread = unread }
        return people
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
