import CPostgreSQL

extension PostgresConnection {
    /// How often two sessions are compared: a busy pooler may hand them different servers for a while.
    private static let looks = 8

    /// Whether a pooler stands in between that lends its connections to others after each transaction, as PgBouncer does
    /// with `pool_mode = transaction`: what this session has set, prepared and locked would then be anybody's.
    ///
    /// A pooler answers with a number of process of its own. That it pools transactions shows where a second session, opened
    /// by the same recipe, finds itself in the server process that the first one had a moment before.
    func isLentAnew(beside recipe: SessionRecipe) throws(PostgresError) -> Bool {
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

    /// By the simple protocol: a prepared statement may be somebody else's there.
    private func serverProcess() throws(PostgresError) -> String {
        try session.command("SELECT pg_backend_pid()::text", .nothing, patience).text(0, 0)
    }
}
