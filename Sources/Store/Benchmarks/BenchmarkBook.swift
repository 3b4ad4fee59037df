package import Postgres

/// What a benchmark asks the tables: how far the worker is, and whether the end is what it should be.
package struct BenchmarkBook: Sendable {
    private let pool: PostgresPool

    /// - Parameter pool: of one connection, so that its process on the server is always the same.
    package init(pool: PostgresPool) {
        self.pool = pool
    }

    /// The lines of the ledger that ended in one way.
    package struct Ending: Hashable, Sendable {
        package let state: String
        package let reason: String

        package init(state: String, reason: String = "") {
            self.state = state
            self.reason = reason
        }
    }

    /// The first and the last trace of a run, in microseconds since 1970 by the server's clock.
    package struct Span: Sendable {
        package let firstRecorded: Int64
        package let lastSettled: Int64
    }

    /// The process on the server that answers here: a local one can be told apart from those that do the work.
    package func serverProcess() async throws(PostgresError) -> Int {
        Int(clamping: try await number("SELECT pg_backend_pid()::bigint"))
    }

    package func serverVersion() async throws(PostgresError) -> String {
        try await pool.run(Statement("SELECT current_setting('server_version')", effect: .reads), []).text(0, 0)
    }

    /// Settings without which a run says nothing: a server that does not flush is not one that keeps its word.
    package func isDurable() async throws(PostgresError) -> Bool {
        try await number(
            """
            SELECT (current_setting('fsync') = 'on' AND current_setting('synchronous_commit') <> 'off')::integer::bigint
            """
        ) == 1
    }

    /// Fresh statistics, as a system that has run for a while has them.
    package func analyze() async throws(PostgresError) {
        try await pool.withConnection { (connection) throws(PostgresError) in
            try connection.execute("VACUUM ANALYZE people")
        }
    }

    /// From now on the server knows no more of the tombstones than that there are none.
    package func stopCountingTombstones() async throws(PostgresError) {
        try await pool.withConnection { (connection) throws(PostgresError) in
            try connection.execute("ALTER TABLE tombstones SET (autovacuum_enabled = off); ANALYZE tombstones")
        }
    }

    package func tombstones() async throws(PostgresError) -> Int {
        Int(clamping: try await number("SELECT count(*) FROM tombstones"))
    }

    package func notifications() async throws(PostgresError) -> Int {
        Int(clamping: try await number("SELECT count(*) FROM inbox"))
    }

    package func distinctEvents() async throws(PostgresError) -> Int {
        Int(clamping: try await number("SELECT count(DISTINCT (event_id, person)) FROM inbox"))
    }

    package func deadLetters() async throws(PostgresError) -> Int {
        Int(clamping: try await number("SELECT count(*) FROM dead_letters"))
    }

    /// Whether anything is still under way or owed.
    package func isSettled() async throws(PostgresError) -> Bool {
        try await number(
            """
            SELECT count(*) FROM ledger
            WHERE state IN (\(DeliveryState.owed), \(DeliveryState.accepted.sql))
            """
        ) == 0
    }

    /// Whether the row is committed: by the primary key, so that asking costs next to nothing.
    package func isRecorded(_ key: NotificationKey) async throws(PostgresError) -> Bool {
        let parameters: [Parameter] = [
            .text(key.recipient.app.text), .text(key.recipient.user.text), .integer(key.notification.number),
        ]
        return try await pool.run(Self.lookUp, parameters).count > 0
    }

    package func endings() async throws(PostgresError) -> [Ending: Int] {
        let rows = try await pool.run(
            Statement("SELECT state, coalesce(reason, ''), count(*) FROM deliveries GROUP BY 1, 2", effect: .reads),
            []
        )
        var endings: [Ending: Int] = [:]
        for row in rows.indices {
            let ending = Ending(state: try rows.text(row, 0), reason: try rows.text(row, 1))
            endings[ending] = try rows.number(row, 2)
        }
        return endings
    }

    /// Of what was recorded since that instant, in microseconds since 1970; nil where nothing was.
    package func span(since start: Int64 = 0) async throws(PostgresError) -> Span? {
        let rows = try await pool.run(
            Statement(
                """
                SELECT (SELECT min(created_at) FROM inbox WHERE created_at >= $1),
                       greatest((SELECT max(updated_at) FROM ledger), (SELECT max(created_at) FROM inbox))
                """,
                effect: .reads
            ),
            [.instant(start)]
        )
        guard let first = try rows.optionalInstant(0, 0), let last = try rows.optionalInstant(0, 1) else { return nil }
        return Span(firstRecorded: first, lastSettled: last)
    }

    private func number(_ sql: String) async throws(PostgresError) -> Int64 {
        try await pool.run(Statement(sql, effect: .reads), []).integer(0, 0)
    }

    private static let lookUp = Statement(
        """
        SELECT 1 FROM inbox
        WHERE person = (SELECT number FROM people WHERE app = $1 AND user_id = $2) AND id = $3
        """,
        effect: .reads
    )
}
