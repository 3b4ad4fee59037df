import BellhopRules
import Postgres
import Store

/// The queries of the fan-out benchmark, and its baseline.
struct BenchmarkFanoutBook: Sendable {
    private let pool: PostgresPool

    /// - Parameter pool: A pool with the rights of the schema's owner and a long timeout.
    init(pool: PostgresPool) {
        self.pool = pool
    }

    /// Makes all users of the app follow a topic, updates the statistics and flushes the tables to disk.
    func follow(_ topic: String, app: AppID) async throws(StoreError) {
        _ = try await pool.run(Self.follow, [.text(app.text), .text(topic)])
        try await pool.withConnection { (connection) throws(StoreError) in
            try connection.execute("VACUUM ANALYZE follows")
            try connection.execute("VACUUM ANALYZE recipients")
            if try connection.run(Self.mayCheckpoint).boolean(0, 0) { try connection.execute("CHECKPOINT") }
        }
    }

    /// A checkpoint leaves WAL files for reuse, as in a system that has run for a while.
    ///
    /// Creating a new file delays all commits.
    private static let mayCheckpoint = Statement(
        "SELECT pg_has_role(current_user, 'pg_checkpoint', 'USAGE')",
        effect: .reads
    )

    /// The progress of an event's fan-out.
    struct Standing: Sendable {
        let users: Int
        /// Microseconds since 1970, by the server clock.
        let startedAt: Int64
        let finishedAt: Int64?
    }

    /// Returns the progress by primary key; `nil` if the fan-out has not been opened.
    func standing(of event: String, app: AppID) async throws(StoreError) -> Standing? {
        let rows = try await pool.run(Self.standing, [.text(app.text), .text(event)])
        guard !rows.isEmpty else { return nil }
        return Standing(
            users: try rows.number(0, 0),
            startedAt: try rows.instant(0, 1),
            finishedAt: try rows.optionalInstant(0, 2)
        )
    }

    /// Returns the number of followers without a notification of the event, and the number of its notifications for
    /// other users.
    ///
    /// Both are zero if the two sets are equal.
    func differences(
        _ event: String,
        to topic: String,
        app: AppID
    ) async throws(StoreError) -> (lost: Int, strangers: Int) {
        let rows = try await pool.run(Self.differences, [.text(app.text), .text(topic), .text(event)])
        return (try rows.number(0, 0), try rows.number(0, 1))
    }

    /// Copies the rows of inbox and ledger into equal tables with the same indexes, in one transaction.
    ///
    /// Returns the duration, which is the server's time for the rows alone.
    func insertPlainly() async throws(StoreError) -> Duration {
        try await pool.withConnection { (connection) throws(StoreError) in
            try connection.execute(
                """
                CREATE TABLE plain_inbox (LIKE inbox INCLUDING ALL);
                CREATE TABLE plain_ledger (LIKE ledger INCLUDING ALL) WITH (fillfactor = 42)
                """
            )
            let clock = ContinuousClock()
            let start = clock.now
            // Several statements in one text form one transaction, including its commit.
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
