import BellhopRules
import Store

extension Batch {
    /// Releases deliveries that this batch has just deferred for a pause which the user has ended meanwhile.
    ///
    /// It runs after the commit and only if there are such deliveries. If the database fails on it, they stay deferred
    /// until the end of the pause that the rules found.
    func releasePaused(of people: Set<UserKey>, in store: any WorkerDatabase) async {
        guard !people.isEmpty else { return }
        let users = Array(people)
        let released = await persistence.tryAtMost(2) { () throws(StoreError) in
            try await store.releasePaused(of: users)
        }
        guard released == nil else { return }
        persistence.context.logger.warning(
            "cannot check for ended pauses, so deliveries may wait until the former end",
            ["users": .integer(users.count)]
        )
    }
}
