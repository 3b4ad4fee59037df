import BellhopRules
import IntegrationSupport
import Postgres
import Store
import TestSupport
import Testing

/// The cost of polling due rows while the server cannot remove entries of rows that were taken.
@Suite(
    "Due rows during a long transaction",
    .limitedConcurrency,
    .enabled(if: Servers.databaseURL != nil, "needs BELLHOP_DATABASE_URL"),
    .timeLimit(.ofTest)
)
struct DeadEntriesTests {
    /// A queue, as its duty uses it.
    struct Queue: CustomTestStringConvertible, Sendable {
        let table: String
        /// Inserts rows that came due an hour ago, numbered from `$1` to `$2`.
        let fill: Statement
        /// Gives the due rows their final state.
        let settle: Statement
        let take: @Sendable (PostgresPool, Duration) async throws -> Int

        var testDescription: String { table }
    }

    private static let queues =
        [
            Queue(
                table: "ledger",
                fill: """
                    WITH people AS (
                        INSERT INTO people (app, user_id)
                        SELECT 'drop', 'u' || n FROM generate_series($1::bigint, $2::bigint) AS n RETURNING number
                    )
                    INSERT INTO ledger (person, id, target, state, due_at, urgency)
                    SELECT number, 7, 7, 'w', now() - interval '1 h', 1 FROM people
                    """,
                settle: "UPDATE ledger SET state = 'd', due_at = NULL",
                take: { pool, span in
                    try await DueDeliveryStore(pool: pool, strandedAfter: .seconds(300)).take(
                        .normal,
                        atMost: 10,
                        within: span
                    )
                    .count
                }
            ),
            Queue(
                table: "ledger",
                fill: """
                    WITH people AS (
                        INSERT INTO people (app, user_id)
                        SELECT 'drop', 'u' || n FROM generate_series($1::bigint, $2::bigint) AS n RETURNING number
                    )
                    INSERT INTO ledger (person, id, target, state, due_at, sent_at)
                    SELECT number, 7, 7, 'a', now() - interval '1 h', now() FROM people
                    """,
                settle: "UPDATE ledger SET state = 'd', due_at = NULL, sent_at = NULL",
                take: { pool, span in try await WorkerStore(pool: pool).takeReceipts(atMost: 10, within: span).count }
            ),
            Queue(
                table: "ledger",
                fill: """
                    WITH people AS (
                        INSERT INTO people (app, user_id)
                        SELECT 'drop', 'u' || n FROM generate_series($1::bigint, $2::bigint) AS n RETURNING number
                    )
                    INSERT INTO ledger (person, id, target, state, outlet, queued_at, urgency)
                    SELECT number, 7, 7, 'w', 'drop/fcm', now() - interval '1 h', 1 FROM people
                    """,
                settle: "UPDATE ledger SET state = 'd', outlet = NULL, queued_at = NULL",
                take: { pool, span in
                    let key = try #require(BacklogKey("drop/fcm"))
                    let since = span == DuePoll.whole ? nil : DeadLetterSamples.ago(span.components.seconds)
                    let look = BacklogPoll(BacklogPlace(key, .normal), since: since)
                    let book = WorkerStore(pool: pool, lease: .seconds(60))
                    guard try await book.heads([look]).oldest[0] != nil else { return 0 }
                    let pulled = try await book.pull(look, atMost: 10, as: .fresh)
                    guard case .lines(let lines) = pulled else { return 0 }
                    return lines.count
                }
            ),
            Queue(
                table: "badge_updates",
                fill: """
                    INSERT INTO badge_updates (app, user_id, requested_at)
                    SELECT 'drop', 'u' || n, now() - interval '1 h' FROM generate_series($1::bigint, $2::bigint) AS n
                    """,
                settle: "DELETE FROM badge_updates",
                take: { pool, span in
                    try await BadgeStore(pool: pool).take(atMost: 10, calm: .zero, within: span).count
                }
            ),
            Queue(
                table: "events",
                fill: """
                    INSERT INTO events (app, id, content_hash, content, planned_at)
                    SELECT 'drop', 'e' || n, '', '{"to": {"users": ["u1"]}, "eventType": "system"}', now() - interval '1 h'
                    FROM generate_series($1::bigint, $2::bigint) AS n
                    """,
                settle: "UPDATE events SET expanded_at = now()",
                take: { pool, span in try await WorkerStore(pool: pool).takeDueEvents(atMost: 10, within: span).count }
            ),
            Queue(
                table: "reminders",
                fill: """
                    INSERT INTO reminders (app, user_id, id, local_time, title, body, source_time, next_fire_at)
                    SELECT 'drop', 'u' || n, 'r', '09:00', 't', 'b', now(), now() - interval '1 h'
                    FROM generate_series($1::bigint, $2::bigint) AS n
                    """,
                settle: "UPDATE reminders SET next_fire_at = now() + interval '1 d'",
                take: { pool, span in try await ReminderStore(pool: pool).open(atMost: 10, within: span).count }
            ),
        ] as [Queue]

    /// Returns the number of rows that a poll over `span` reads from a queue in which nothing is due.
    private static func reads(_ queue: Queue, _ span: Duration, _ pool: PostgresPool, _ servers: ServerFixture)
        async throws
        -> Int
    {
        let before = try await OtherUsers.rowsRead(servers, by: pool)[queue.table] ?? 0
        let taken = try await queue.take(pool, span)
        let after = try await OtherUsers.rowsRead(servers, by: pool)[queue.table] ?? 0
        #expect(taken == 0)
        return after - before
    }

    @Test(
        "a poll costs the same however many rows were taken before, and a poll from the beginning finds all",
        arguments: queues
    )
    func cost(queue: Queue) async throws {
        try await ServerFixture.withSchema { servers in
            try await OtherUsers.stopCounting(in: servers)
            let pool = try StatementCoverage.pool(on: servers)
            // An open cursor keeps every row that it can still see, as a backup does.
            try await RowLock.hold(on: servers, "DECLARE backup CURSOR FOR SELECT 1") {
                var near: [Int] = []
                var whole: [Int] = []
                for round in 0..<2 {
                    let size = 2_000 * round + 1_000
                    let range: [Parameter] = [.integer(Int64(10_000 * round)), .integer(Int64(10_000 * round + size))]
                    try await servers.owner.withConnection { (connection) throws(PostgresError) in
                        _ = try connection.run(queue.fill, range)
                        _ = try connection.run(queue.settle)
                        // Reports the statistics of this session now, so that they are not counted with those of the
                        // poll.
                        _ = try connection.run("SELECT pg_stat_force_next_flush() IS NULL")
                        _ = try connection.run("SELECT 1 AS pg_stat")
                    }
                    near.append(try await Self.reads(queue, .seconds(60), pool, servers))
                    whole.append(try await Self.reads(queue, DuePoll.whole, pool, servers))
                }
                #expect(near.allSatisfy { $0 < 50 })
                // The dead entries are still there, and a poll from before them reads them.
                #expect(whole[0] > 900)
                #expect(whole[1] > 3_900)
                _ = try await servers.owner.run(queue.fill, [.integer(90_000), .integer(90_000)])
                let passed = try await queue.take(pool, .seconds(60))
                let found = try await queue.take(pool, DuePoll.whole)
                #expect(passed == 0)
                #expect(found == 1)
            }
            await pool.close()
        }
    }

    @Test("a delivery that came due while its batch was held is due when it is written")
    func heldBatch() async throws {
        try await ServerFixture.withSchema { servers in
            let past = DeadLetterSamples.ago(3_600)
            let deferred = NewDelivery.deferred(to: "sub_0000000000000007", Wait(.digest, until: past))
            let records = try servers.records(id: "e1", users: ["u1"], title: "Hei").map { $0.with([deferred]) }
            _ = try await WorkerStore(pool: servers.pool).record(records, as: .fresh)
            let found = try await DueDeliveryStore(pool: servers.pool, strandedAfter: .seconds(300))
                .take(.low, atMost: 10, within: .seconds(60))
            #expect(found.count == 1)
        }
    }
}
