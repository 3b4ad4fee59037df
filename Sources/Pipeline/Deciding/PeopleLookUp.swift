import BellhopRules
import Postgres
import Store

/// Looks up the people of whom the rules are asked, and what they have not read where their pushes show it.
struct PeopleLookUp: Sendable {
    let store: any PipelineStore
    let catalogs: CatalogSet

    /// One round trip, and a second one for those in `counted` who have a device that may get it.
    ///
    /// Counting reads a part of the inbox: who has no device, or has them switched off, does without.
    func find(
        _ keys: Set<RecipientKey>,
        counting counted: Set<RecipientKey>
    ) async throws(PostgresError) -> [RecipientKey: Recipient] {
        guard !keys.isEmpty else { return [:] }
        var people = try await store.recipients(of: keys)
        guard !counted.isEmpty else { return people }
        let shown = people.filter { key, person in
            counted.contains(key) && person.pushEnabled && !person.devices.isEmpty
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
