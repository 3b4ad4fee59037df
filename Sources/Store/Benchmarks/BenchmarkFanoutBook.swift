package import BellhopRules
package import Postgres

/// What a benchmark of fan-outs asks the tables, and what it holds them against.
package struct BenchmarkFanoutBook: Sendable {
    private let pool: PostgresPool

    /// - Parameter pool: with the rights of the schema's owner, and patience.
    package init(pool: PostgresPool) {
        self.pool = pool
    }

    /// Has everybody of the app follow a topic, and the server count what is there and write it all out.
    package func follow(_ topic: String, app: AppID) async throws(PostgresError) {
        _ = try await pool.run(Self.follow, [.text(app.text), .text(topic)])
        try await pool.withConnection { (connection) throws(PostgresError) in
            try connection.execute("VACUUM ANALYZE follows")
            try connection.execute("VACUUM ANALYZE recipients")
            if try connection.run(Self.mayCheckpoint).boolean(0, 0) { try connection.execute("CHECKPOINT") }
        }
    }

    /// A checkpoint leaves files of the log to be used again, as on a system that has run for a while: to make a new one
    /// keeps all commits waiting.
    private static let mayCheckpoint = Statement(
        "SELECT pg_has_role(current_user, 'pg_checkpoint', 'USAGE')",
        effect: .reads
    )

    /// How far the fan-out of an event is.
    package struct Standing: Sendable {
        package let users: Int
        /// In microseconds since 1970, by the server's clock.
        package let startedAt: Int64
        package let finishedAt: Int64?
    }

    /// By its key; nil while nobody has opened it.
    package func standing(of event: String, app: AppID) async throws(PostgresError) -> Standing? {
        let rows = try await pool.run(Self.standing, [.text(app.text), .text(event)])
        guard !rows.isEmpty else { return nil }
        return Standing(
            users: try rows.number(0, 0),
            startedAt: try rows.instant(0, 1),
            finishedAt: try rows.optionalInstant(0, 2)
        )
    }

    /// Followers without a notification of the event, and notifications of it for others: none of either, or the two sets
    /// differ.
    package func differences(
        _ event: String,
        to topic: String,
        app: AppID
    ) async throws(PostgresError) -> (lost: Int, strangers: Int) {
        let rows = try await pool.run(Self.differences, [.text(app.text), .text(topic), .text(event)])
        return (try rows.number(0, 0), try rows.number(0, 1))
    }

    /// Writes the rows of inbox and ledger once more, into tables like them with the same indexes, in one transaction; how
    /// long that takes is what the server needs for the rows themselves.
    package func insertPlainly() async throws(PostgresError) -> Duration {
        try await pool.withConnection { (connection) throws(PostgresError) in
            try connection.execute(
                """
                CREATE TABLE plain_inbox (LIKE inbox INCLUDING ALL);
                CREATE TABLE plain_ledger (LIKE ledger INCLUDING ALL) WITH (fillfactor = 42)
                """
            )
            let clock = ContinuousClock()
            let start = clock.now
            // Several statements in one text are one transaction, its commit included.
            try connection.execute(
                "INSERT INTO plain_inbox SELECT * FROM inbox; INSERT INTO plain_ledger SELECT * FROM ledger"
            )
            let took = clock.now - start
            try connection.execute("DROP TABLE plain_inbox, plain_ledger")
            return took
        }
    }

    private static let follow = Statement(
        """
        INSERT INTO follows (app, topic, user_id, since, source_time)
        SELECT app, $2, user_id, now(), now() FROM recipients WHERE app = $1
        """
    )

    private static let standing = Statement(
        "SELECT users, started_at, finished_at FROM fanouts WHERE app = $1 AND event_id = $2",
        effect: .reads
    )

    private static let differences = Statement(
        """
        WITH recorded AS MATERIALIZED (
            SELECT p.user_id FROM inbox i JOIN people p ON p.number = i.person AND p.app = $1 WHERE i.event_id = $3
        ), meant AS MATERIALIZED (
            SELECT user_id FROM follows WHERE app = $1 AND topic = $2 AND removed_at IS NULL
        )
        SELECT (SELECT count(*) FROM (SELECT user_id FROM meant EXCEPT SELECT user_id FROM recorded) AS lost),
               (SELECT count(*) FROM (SELECT user_id FROM recorded EXCEPT SELECT user_id FROM meant) AS strangers)
        """,
        effect: .reads
    )
}
