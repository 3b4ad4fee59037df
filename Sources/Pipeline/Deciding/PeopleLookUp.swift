import BellhopRules
import Postgres
import Store

/// Looks up the people of whom the rules are asked, and what they have not read where their pushes show it.
struct PeopleLookUp: Sendable {
    let store: any PipelineStore

    /// One round trip, and a second one for those in `counted` who have a device that shows a number.
    ///
    /// Counting reads a part of the inbox: most types and most devices do without.
    func find(
        _ keys: Set<RecipientKey>,
        counting counted: Set<RecipientKey>
    ) async throws(PostgresError) -> [RecipientKey: Recipient] {
        guard !keys.isEmpty else { return [:] }
        var people = try await store.recipients(of: keys)
        guard !counted.isEmpty else { return people }
        let shown = people.filter { key, person in
            counted.contains(key) && person.devices.contains { $0.platform == .ios }
        }
        guard !shown.isEmpty else { return people }
        for (key, unread) in try await store.unread(of: Array(shown.keys)) { people[key]?.unread = unread }
        return people
    }
}
