import CPostgreSQL

extension PostgresConnection {
    /// The number of comparisons between two sessions.
    ///
    /// A busy pooler may give them different servers for a while.
    private static let looks = 8

    /// Whether a pooler lends this connection to other clients after each transaction, as PgBouncer does with
    /// `pool_mode = transaction`.
    ///
    /// Other clients would then share this session's settings, prepared statements and locks.
    ///
    /// A pooler answers with its own process number. It pools transactions if a second session with the same recipe
    /// uses the server process that the first session used a moment before.
    func isLentAnew(beside recipe: SessionOptions) throws(PostgresError) -> Bool {
        guard try serverProcess() != String(PQbackendPID(session.handle)) else { return false }
        let other = PostgresConnection(
            try Session.open(recipe),
            Interruption(),
            statementTimeout: statementTimeout
        )
        for _ in 0..<Self.looks {
            let mine = try serverProcess()
            let its = try other.transaction { (other) throws(PostgresError) in try other.serverProcess() }
            if mine == its { return true }
        }
        return false
    }

    /// Returns the number of the server process.
    ///
    /// It uses the simple protocol, because a prepared statement could belong to another client of the pooler.
    private func serverProcess() throws(PostgresError) -> String {
        try session.command("SELECT pg_backend_pid()::text", .nothing, patience).text(0, 0)
    }
}
