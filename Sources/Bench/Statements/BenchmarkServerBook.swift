import Postgres
import Store

/// A benchmark's view of the database server: its write-ahead log, dead rows and waits, and what disturbs it.
struct BenchmarkServerBook: Sendable {
    private let pool: PostgresPool

    /// - Parameter pool: A pool with the rights of the schema's owner. Each disturbance that runs at the same time needs
    ///   a separate connection.
    init(pool: PostgresPool) {
        self.pool = pool
    }

    struct Gauges: Sendable {
        /// The rows of the schema that are dead and not yet removed, by the server's statistics.
        let deadRows: Int
        /// The bytes of WAL that the server has written, for all of its work.
        let log: Int64
    }

    func gauges() async throws(StoreError) -> Gauges {
        let rows = try await pool.run(
            Statement(
                """
                SELECT (SELECT coalesce(sum(n_dead_tup), 0)::bigint FROM pg_stat_user_tables
                        WHERE schemaname = current_schema()),
                       (pg_current_wal_lsn() - '0/0')::bigint
                """,
                effect: .reads
            )
        )
        return Gauges(deadRows: try rows.number(0, 0), log: try rows.integer(0, 1))
    }

    /// Returns the folder of the server's data, or `nil` if this user may not read its name.
    func dataFolder() async throws(StoreError) -> String? {
        let rows = try await pool.run(
            Statement("SELECT setting FROM pg_settings WHERE name = 'data_directory'", effect: .reads)
        )
        return rows.isEmpty ? nil : try rows.text(0, 0)
    }

    /// Returns what the active sessions with this name wait for now; `processor` for one that runs.
    func waits(of name: String) async throws(StoreError) -> [String] {
        let rows = try await pool.run(
            Statement(
                """
                SELECT coalesce(wait_event_type || '.' || wait_event, 'processor') FROM pg_stat_activity
                WHERE application_name = $1 AND state = 'active'
                """,
                effect: .reads
            ),
            [.text(name)]
        )
        var waits: [String] = []
        for row in rows.indices { waits.append(try rows.text(row, 0)) }
        return waits
    }

    /// Holds a snapshot of the whole database, so that no row that dies meanwhile can be removed.
    func holdSnapshot(seconds: Double) async throws(StoreError) {
        try await pool.withConnection { (connection) throws(StoreError) in
            try connection.execute(
                "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM people; SELECT pg_sleep(\(seconds)); COMMIT"
            )
        }
    }

    /// Keeps one session for this time.
    func holdSession(seconds: Double) async throws(StoreError) {
        try await pool.withConnection { (connection) throws(StoreError) in
            try connection.execute("SELECT pg_sleep(\(seconds))")
        }
    }

    /// Returns the numbers of permitted and of open sessions.
    func sessions() async throws(StoreError) -> (permitted: Int, open: Int) {
        let rows = try await pool.run(
            Statement(
                "SELECT current_setting('max_connections')::bigint, (SELECT count(*) FROM pg_stat_activity)",
                effect: .reads
            )
        )
        return (try rows.number(0, 0), try rows.number(0, 1))
    }

    /// Reads all notifications, as a report does.
    func readEverything() async throws(StoreError) {
        _ = try await pool.run(
            Statement("SELECT type, count(*), max(created_at) FROM inbox GROUP BY type", effect: .reads)
        )
    }

    /// Ends one session with this name; returns whether there was one.
    func endSession(of name: String) async throws(StoreError) -> Bool {
        let rows = try await pool.run(
            """
            SELECT pg_terminate_backend(pid)::integer::bigint FROM pg_stat_activity
            WHERE application_name = $1 AND backend_type = 'client backend' ORDER BY random() LIMIT 1
            """,
            [.text(name)]
        )
        return rows.count == 1
    }

    func checkpoint() async throws(StoreError) {
        try await pool.withConnection { (connection) throws(StoreError) in try connection.execute("CHECKPOINT") }
    }
}
