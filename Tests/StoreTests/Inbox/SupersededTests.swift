import BellhopRules
import IntegrationSupport
import Postgres
import TestSupport
import Testing

@testable import Store

/// Notifications that a later one with the same collapse key has replaced.
@Suite(
    "Superseded notifications",
    .limitedConcurrency,
    .enabled(if: Servers.databaseURL != nil, "needs BELLHOP_DATABASE_URL"),
    .timeLimit(.ofTest)
)
struct SupersededTests {
    /// Stores seven notifications of the user `ada`, and many newer ones without a key.
    private static func fill(_ servers: ServerFixture, newer: Int) async throws {
        _ = try await servers.owner.run("INSERT INTO people (app, user_id) VALUES ('drop', 'ada'), ('drop', 'bert')")
        _ = try await servers.owner.run(
            """
            INSERT INTO inbox (person, id, urgency, content_hash, event_id, type, title, body, created_at, collapse_key)
            SELECT p.number, n.id, 1, '\\x00', 'e' || n.id, 'system', '', '', now() - n.age * interval '1 min', n.key
            FROM people p JOIN (VALUES
                ('ada', 1, 60, 'k'), ('ada', 2, 50, 'k'), ('ada', 3, 50, 'k'), ('ada', 4, 55, 'other'), ('ada', 5, 58, NULL),
                ('ada', 6, 59, 'a'), ('ada', 7, 57, 'z'), ('bert', 8, 10, 'other'), ('bert', 9, 9, 'z')
            ) AS n (user_id, id, age, key) ON p.user_id = n.user_id
            """
        )
        _ = try await servers.owner.run(
            """
            INSERT INTO inbox (person, id, urgency, content_hash, event_id, type, title, body)
            SELECT number, n + 100, 1, '\\x00', 'n' || n, 'system', '', ''
            FROM people, generate_series(1, $1) AS n WHERE user_id = 'ada'
            """,
            [.integer(Int64(newer))]
        )
    }

    private static func keys(_ ids: ClosedRange<Int64>) throws -> [NotificationKey] {
        let ada = try #require(UserKey("drop", "ada"))
        return ids.map { NotificationKey(recipient: ada, notification: NotificationID(number: $0)) }
    }

    @Test(
        "only a later notification of the same user and key supersedes one; of the same instant, the higher id"
    )
    func places() async throws {
        try await ServerFixture.withSchema { servers in
            try await Self.fill(servers, newer: 10)
            let keys = try Self.keys(1...7)
            let stored = try await WorkerStore(pool: servers.pool).notifications(keys)
            let superseded = keys.filter { stored[$0]?.isSuperseded == true }.map(\.notification.number)
            #expect(stored.count == 7)
            #expect(superseded == [1, 2])
        }
    }

    @Test("the check for a superseding notification does not read other newer ones", arguments: [0, 8])
    func fewRows(partitions: Int) async throws {
        try await ServerFixture.withSchema(partitions: partitions) { servers in
            let pool = try StatementCoverage.pool(on: servers)
            try await Self.fill(servers, newer: 5_000)
            let (inbox, keys) = (WorkerStore(pool: pool), try Self.keys(1...7))
            func read() async throws -> Int {
                try await OtherUsers.rowsRead(servers, by: pool).filter { $0.key.hasPrefix("inbox") }.values.reduce(
                    0,
                    +
                )
            }
            // The owner's own reads have been reported by then.
            _ = try await servers.owner.run("SELECT pg_stat_force_next_flush() IS NULL")
            _ = try await servers.owner.run("SELECT 1 AS pg_stat")
            let before = try await read()
            _ = try await inbox.notifications(keys)
            let after = try await read()
            #expect(after - before < 100, "\(after - before) rows")
            await pool.close()
        }
    }
}
