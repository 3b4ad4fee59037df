import Postgres
import ServiceRuntime
import Settings
import Store

/// Counts a soak's rows before they are deleted, and deletes them as a scheduler does.
struct BenchmarkSoakBook: Sendable {
    private let pool: PostgresPool

    /// - Parameter pool: A pool with the rights of the schema's owner.
    init(pool: PostgresPool) {
        self.pool = pool
    }

    /// The sums over the rows that were counted.
    struct Tally: Sendable {
        var notifications = 0
        var distinctNotifications = 0
        var endings: [BenchmarkBook.Ending: Int] = [:]
        /// The rows created before this time were counted, in microseconds since 1970, by the server's clock.
        fileprivate(set) var countedUpTo: Int64 = 0
    }

    /// Adds the rows to a tally that are now older than `age` and that it does not contain.
    ///
    /// Their transactions must have ended by then.
    func count(olderThan age: Duration, into tally: inout Tally) async throws(StoreError) {
        let limit = try await pool.run(Self.limit, [.integer(age.microseconds / 1_000)]).instant(0, 0)
        let range = [Parameter.instant(tally.countedUpTo), .instant(limit)]
        let sums = try await pool.run(Self.notifications, range)
        let endings = try await pool.run(Self.endings, range)
        tally.notifications += try sums.number(0, 0)
        tally.distinctNotifications += try sums.number(0, 1)
        for row in endings.indices {
            let ending = BenchmarkBook.Ending(state: try endings.text(row, 0), reason: try endings.text(row, 1))
            tally.endings[ending, default: 0] += try endings.number(row, 2)
        }
        tally.countedUpTo = limit
    }

    /// Deletes rows of the tally with Bellhop's retention, and returns the number of notifications.
    ///
    /// Rows whose deliveries are open remain for the next time.
    func delete(countedIn tally: Tally) async throws(StoreError) -> Int {
        var (deleted, page) = (0, Int64?.some(0))
        while let first = page {
            let age = Duration.milliseconds(try await pool.run(Self.age, [.instant(tally.countedUpTo)]).integer(0, 0))
            let kept = Retention.usual.keeping(.notifications, for: age + Self.margin)
            let store = RetentionStore(pool: pool, retention: kept)
            let step = try await store.look(for: .notifications, from: first, pages: Self.pages)
            deleted += step.retired[.notifications] ?? 0
            page = step.next
        }
        return deleted
    }

    /// Returns the size of all tables and indexes of the schema, in bytes.
    func disk() async throws(StoreError) -> Int {
        try await pool.run(Self.size).number(0, 0)
    }

    private static let pages: Int64 = 256
    /// The retention's limit moves with the clock, so that it must not reach the end of the count meanwhile.
    private static let margin = Duration.seconds(5)

    private static let age = Statement(
        "SELECT (extract(epoch FROM clock_timestamp() - $1::timestamptz) * 1000)::bigint",
        effect: .reads
    )

    private static let limit = Statement(
        "SELECT clock_timestamp() - $1::bigint * interval '1 ms'",
        effect: .reads
    )

    private static let notifications = Statement(
        """
        SELECT count(*), count(DISTINCT (event_id, person)) FROM inbox WHERE created_at >= $1 AND created_at < $2
        """,
        effect: .reads
    )

    private static let endings = Statement(
        """
        SELECT delivery_state(state), coalesce(reason, ''), count(*)
        FROM (
            SELECT l.state, l.reason FROM inbox i JOIN ledger l ON l.person = i.person AND l.id = i.id
            WHERE i.created_at >= $1 AND i.created_at < $2
            UNION ALL
            SELECT unsent, unsent_reason FROM inbox
            WHERE created_at >= $1 AND created_at < $2 AND unsent IS NOT NULL
        ) AS lines
        GROUP BY 1, 2
        """,
        effect: .reads
    )

    private static let size = Statement(
        """
        SELECT coalesce(sum(pg_total_relation_size(oid)), 0)::bigint FROM pg_class
        WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'm')
        """,
        effect: .reads
    )
}
