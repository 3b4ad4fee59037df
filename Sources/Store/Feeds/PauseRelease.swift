package import Postgres

/// Releases deliveries that wait for the end of a pause, if the user's pause ends earlier by now.
///
/// They are due at the end of the present pause, or immediately, and the rules run again.
enum PauseRelease {
    /// The maximum number of released deliveries of one user, so that the transaction stays short.
    ///
    /// Further ones keep their due time.
    static let most: Int64 = 10_000

    /// Runs for users whose preferences were written in this transaction, or whose deliveries were committed before.
    static func run(_ people: [Parameter], on connection: PostgresConnection) throws(PostgresError) -> Int {
        try connection.run(release, people + [.integer(most)]).number(0, 0)
    }

    private static let release = Statement("SELECT release_paused($1, $2, $3)")
}

extension WorkerStore {
    /// Releases deliveries that wait for the end of a pause which their users have shortened meanwhile, and returns their
    /// number.
    ///
    /// A batch that has deferred deliveries because of a pause calls it after its commit. A user may have ended the pause
    /// after the batch read the preferences; that change has not found the deliveries, because they were not committed
    /// yet.
    package func releasePaused(of people: [UserKey]) async throws(PostgresError) -> Int {
        guard !people.isEmpty else { return 0 }
        let parameters = UserKey.parameters(people)
        return try await pool.withConnection { (connection) throws(PostgresError) in
            try PauseRelease.run(parameters, on: connection)
        }
    }
}
