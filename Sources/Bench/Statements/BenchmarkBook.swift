import Postgres
import Store

/// A benchmark's queries: the worker's progress, and the checks of the final state.
struct BenchmarkBook: Sendable {
    private let pool: PostgresPool
    private let tables: Tables

    /// - Parameters:
    ///   - pool: A pool of one connection, so that its server process is always the same.
    ///   - tables: The tables that the workers write.
    init(pool: PostgresPool, tables: Tables = .own) {
        self.pool = pool
        self.tables = tables
    }

    /// The tables of the measured workers.
    ///
    /// The columns that the queries read have the same names and meanings in all of them.
    struct Tables: Sendable {
        let notifications: String
        let deliveries: String

        static let own = Tables(notifications: "inbox", deliveries: "ledger")
        /// The tables that a peer creates.
        static let peer = Tables(notifications: "peer_notifications", deliveries: "peer_deliveries")
    }

    /// A final state and reason, by which ledger rows are counted.
    struct Ending: Hashable, Sendable {
        let state: String
        let reason: String

        init(state: String, reason: String = "") {
            self.state = state
            self.reason = reason
        }
    }

    /// The first and the last write of a run, in microseconds since 1970 by the server clock.
    struct Span: Sendable {
        let firstRecorded: Int64
        let lastSettled: Int64
    }

    /// The position in the tables at the beginning of a run: the run's rows come after it.
    struct Mark: Sendable {
        fileprivate var inboxPages: Int64 = 0
        fileprivate var ledgerPages: Int64 = 0
        /// Microseconds since 1970, by the server clock.
        fileprivate var instant: Int64 = 0

        /// A mark before all rows.
        static let beginning = Mark()

        /// Returns the mark with the time of a later one: rows may fill the free space of pages that were written
        /// between the two.
        func from(_ later: Mark) -> Mark {
            var mark = self
            mark.instant = later.instant
            return mark
        }

        /// Returns the parameters that select rows written since the mark.
        ///
        /// They begin at the last page, which may have had free space.
        fileprivate func place(_ pages: KeyPath<Mark, Int64>) -> [Parameter] {
            [.text("(\(max(0, self[keyPath: pages] - 1)),0)"), .instant(instant)]
        }
    }

    /// The size of inbox and ledger, and the work done on them so far.
    struct Footprint: Sendable {
        /// The size on disk in bytes, including all indexes.
        let disk: Int64
        /// The bytes of WAL that the server has written, for all of its work.
        let log: Int64
        /// The pages of inbox, ledger and people that were accessed, including index pages.
        let pages: Int64
    }

    func mark() async throws(StoreError) -> Mark {
        let rows = try await pool.run(
            Statement(
                """
                SELECT pg_relation_size('\(tables.notifications)') / current_setting('block_size')::bigint,
                       pg_relation_size('\(tables.deliveries)') / current_setting('block_size')::bigint,
                       clock_timestamp()
                """,
                effect: .reads
            )
        )
        return Mark(
            inboxPages: try rows.integer(0, 0),
            ledgerPages: try rows.integer(0, 1),
            instant: try rows.instant(0, 2)
        )
    }

    /// Returns the footprint.
    ///
    /// Page accesses by workers are included after one second.
    func footprint() async throws(StoreError) -> Footprint {
        let rows = try await pool.run(
            Statement(
                """
                SELECT pg_total_relation_size('\(tables.notifications)')
                           + pg_total_relation_size('\(tables.deliveries)'),
                       (pg_current_wal_lsn() - '0/0')::bigint,
                       (SELECT sum(heap_blks_hit + heap_blks_read + coalesce(idx_blks_hit + idx_blks_read, 0))::bigint
                        FROM pg_statio_user_tables
                        WHERE relid = ANY (ARRAY['\(tables.notifications)', '\(tables.deliveries)', 'people']::regclass[]))
                """,
                effect: .reads
            )
        )
        return Footprint(
            disk: try rows.integer(0, 0),
            log: try rows.integer(0, 1),
            pages: try rows.integer(0, 2)
        )
    }

    /// Writes earlier notifications of all users in turn, each delivered long ago: some dozens of megabytes per
    /// statement.
    func store(_ range: Range<Int>) async throws(StoreError) {
        _ = try await pool.run(
            Self.store,
            [.integer(Int64(range.lowerBound)), .integer(Int64(range.upperBound - 1))]
        )
    }

    /// Returns the id of this connection's server process, so that a local one can be distinguished from the processes
    /// under test.
    func serverProcess() async throws(StoreError) -> Int {
        Int(clamping: try await number("SELECT pg_backend_pid()::bigint"))
    }

    func serverVersion() async throws(StoreError) -> String {
        try await pool.run(Statement("SELECT current_setting('server_version')", effect: .reads), []).text(0, 0)
    }

    /// Returns whether the server's settings make a run meaningful: a server that does not flush does not guarantee
    /// durability.
    func isDurable() async throws(StoreError) -> Bool {
        try await number(
            """
            SELECT (current_setting('fsync') = 'on' AND current_setting('synchronous_commit') <> 'off')::integer::bigint
            """
        ) == 1
    }

    /// Updates the statistics, as in a system that has run for a while.
    func analyze() async throws(StoreError) {
        try await pool.withConnection { (connection) throws(StoreError) in
            try connection.execute("VACUUM ANALYZE people")
            try connection.execute("VACUUM ANALYZE inbox")
            try connection.execute("VACUUM ANALYZE ledger")
        }
    }

    /// Fixes the server's statistics of `tombstones` at their current values, an empty table.
    func stopCountingTombstones() async throws(StoreError) {
        try await pool.withConnection { (connection) throws(StoreError) in
            try connection.execute("ALTER TABLE tombstones SET (autovacuum_enabled = off); ANALYZE tombstones")
        }
    }

    func tombstones() async throws(StoreError) -> Int {
        Int(clamping: try await number("SELECT count(*) FROM tombstones"))
    }

    func notifications(since mark: Mark = .beginning) async throws(StoreError) -> Int {
        let sql = "SELECT count(*) FROM \(tables.notifications) WHERE ctid >= $1::text::tid AND created_at >= $2"
        return Int(clamping: try await number(sql, mark.place(\.inboxPages)))
    }

    func distinctEvents(since mark: Mark) async throws(StoreError) -> Int {
        let sql = "SELECT count(DISTINCT (event_id, person)) FROM \(tables.notifications) WHERE created_at >= $1"
        return Int(clamping: try await number(sql, [.instant(mark.instant)]))
    }

    func deadLetters() async throws(StoreError) -> Int {
        Int(clamping: try await number("SELECT count(*) FROM dead_letters"))
    }

    /// Returns whether no delivery is in flight or open.
    func isSettled(since mark: Mark = .beginning) async throws(StoreError) -> Bool {
        try await owed(since: mark) == 0
    }

    /// Returns the number of deliveries that are in flight or open.
    func owed(since mark: Mark = .beginning) async throws(StoreError) -> Int {
        let owed = try await number(
            """
            SELECT count(*) FROM \(tables.deliveries)
            WHERE ctid >= $1::text::tid AND updated_at >= $2
              AND state IN (\(DeliveryState.owed), \(DeliveryState.accepted.sql))
            """,
            mark.place(\.ledgerPages)
        )
        return Int(clamping: owed)
    }

    /// Returns whether the row of an event for a user is committed.
    ///
    /// The keys of all tables begin with the user, so that its cost is small.
    func isRecorded(_ event: String, of user: String, in app: String) async throws(StoreError) -> Bool {
        let statement = Statement(
            """
            SELECT 1 FROM \(tables.notifications)
            WHERE person = (SELECT number FROM people WHERE app = $1 AND user_id = $2) AND event_id = $3
            """,
            effect: .reads
        )
        return try await pool.run(statement, [.text(app), .text(user), .text(event)]).count > 0
    }

    func endings(since mark: Mark) async throws(StoreError) -> [Ending: Int] {
        let rows = try await pool.run(
            Statement(
                """
                SELECT delivery_state(state), coalesce(reason, ''), count(*)
                FROM (
                    SELECT state, reason FROM \(tables.deliveries) WHERE updated_at >= $1
                    UNION ALL
                    SELECT unsent, unsent_reason FROM \(tables.notifications)
                    WHERE created_at >= $1 AND unsent IS NOT NULL
                ) AS lines
                GROUP BY 1, 2
                """,
                effect: .reads
            ),
            [.instant(mark.instant)]
        )
        var endings: [Ending: Int] = [:]
        for row in rows.indices {
            let ending = Ending(state: try rows.text(row, 0), reason: try rows.text(row, 1))
            endings[ending] = try rows.number(row, 2)
        }
        return endings
    }

    /// Returns the span of the rows recorded since `start`, in microseconds since 1970; `nil` if there are none.
    func span(since start: Int64 = 0) async throws(StoreError) -> Span? {
        let rows = try await pool.run(
            Statement(
                """
                SELECT (SELECT min(created_at) FROM \(tables.notifications) WHERE created_at >= $1),
                       greatest((SELECT max(updated_at) FROM \(tables.deliveries)),
                                (SELECT max(created_at) FROM \(tables.notifications)))
                """,
                effect: .reads
            ),
            [.instant(start)]
        )
        guard let first = try rows.optionalInstant(0, 0), let last = try rows.optionalInstant(0, 1) else { return nil }
        return Span(firstRecorded: first, lastSettled: last)
    }

    private func number(_ sql: String, _ parameters: [Parameter] = []) async throws(StoreError) -> Int64 {
        try await pool.run(Statement(sql, effect: .reads), parameters).integer(0, 0)
    }

    /// Writes rows of the same size and shape as W1.
    ///
    /// A user's rows are far apart.
    private static let store = Statement(
        """
        WITH stored AS (
            INSERT INTO inbox
                (person, id, created_at, urgency, content_hash, event_id, type, title, body, link_mobile, link_scheme,
                 link_web, data, target_id)
            SELECT p.number, hashint8extended(n, 1), now() - interval '30 d', 1,
                   substring(sha256(n::text::bytea) FOR 16), 'evt_stored_' || n, 'transaction_complete',
                   'Betaling fullført', 'Du mottok 2 000 kr fra Kari Nordmann (' || n % 100000 || ').',
                   '/transactions/tx_' || n, 'drop://transactions/tx_' || n, '/transactions/tx_' || n,
                   '{"amount":"2 000 kr","from":"Kari Nordmann"}', 'tx_' || n
            FROM generate_series($1::bigint, $2::bigint) AS n
            JOIN LATERAL (
                SELECT number FROM people
                WHERE number >= (SELECT min(number) FROM people) + n * 7919 % (SELECT count(*) FROM people)
                ORDER BY number LIMIT 1
            ) AS p ON true
            RETURNING person, id
        )
        INSERT INTO ledger (person, id, target, updated_at, attempts, urgency, state, provider_message_id)
        SELECT person, id, hashint8extended(person, 2), now() - interval '30 d', 1, 1, 'd',
               'projects/bellhop-sandbox/messages/1'
        FROM stored
        """
    )
}
