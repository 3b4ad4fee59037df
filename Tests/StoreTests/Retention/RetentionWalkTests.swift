import IntegrationSupport
import Postgres
import ServiceRuntime
import Settings
import Store
import TestSupport
import Testing

@Suite(
    "Retention walks",
    .limitedConcurrency,
    .enabled(if: Servers.databaseURL != nil, "needs BELLHOP_DATABASE_URL"),
    .timeLimit(.ofTest)
)
struct RetentionWalkTests {
    @Test("a walk passes through the table a few pages at a time and ends after the last one")
    func steps() async throws {
        try await ServerFixture.withSchema { servers in
            try await servers.record(events: (0..<400).map { "e\($0)" }, state: "delivered")
            try await servers.pass("400 days", since: "created_at", in: "inbox")
            let book = RetentionStore(pool: servers.pool, retention: .usual)
            var (page, steps, found): (Int64?, Int, Int) = (0, 0, 0)
            while let start = page, steps < 1000 {
                let step = try await book.look(for: .notifications, from: start, pages: 2)
                page = step.next
                found += step.retired[.notifications] ?? 0
                steps += 1
            }
            #expect(found == 400)
            #expect(steps > 2 && steps < 1000)
            #expect(try await servers.count("SELECT count(*) FROM ledger") == 0)
            let behind = try await book.look(for: .notifications, from: 1_000_000, pages: 2)
            #expect(behind.next == nil)
            #expect(behind.retired.isEmpty)
        }
    }

    @Test("rows that another session has locked are skipped and found by the next walk")
    func held() async throws {
        try await ServerFixture.withSchema { servers in
            try await servers.record(events: ["free", "held"], state: "delivered")
            try await servers.pass("400 days", since: "created_at", in: "inbox")
            let retired = try await RowLock.hold(on: servers, "SELECT FROM inbox WHERE event_id = 'held' FOR UPDATE") {
                try await servers.retire(.notifications)
            }
            #expect(retired[.notifications] == 1)
            let later = try await servers.retire(.notifications)
            #expect(later[.notifications] == 1)
        }
    }

    @Test("devices of a user whose row a feed has locked are skipped")
    func heldPeople() async throws {
        try await ServerFixture.withSchema { servers in
            try await servers.addDevices()
            let retired = try await RowLock.hold(on: servers, "SELECT FROM people FOR NO KEY UPDATE") {
                try await servers.retire(.tokens)
            }
            #expect(retired == [.tokens: 0])
            let later = try await servers.retire(.tokens)
            #expect(later == [.tokens: 2])
        }
    }

    @Test("two concurrent walks together delete each row once")
    func together() async throws {
        try await ServerFixture.withSchema { servers in
            try await servers.record(events: (0..<300).map { "e\($0)" }, state: "delivered")
            try await servers.pass("400 days", since: "created_at", in: "inbox")
            try await servers.addDevices()
            async let one = servers.retireAll()
            async let other = servers.retireAll()
            let (first, second) = try await (one, other)
            let again = try await servers.retireAll()
            #expect(first + second + again == 300 * 2 + 3)
            #expect(try await servers.count("SELECT count(*) FROM inbox") == 0)
        }
    }

    @Test("every partition of a table is walked, and only old rows are deleted")
    func partitions() async throws {
        try await ServerFixture.withSchema { servers in
            try await servers.owner.withConnection { (connection) throws(PostgresError) in
                try connection.execute(
                    """
                    ALTER TABLE tombstones RENAME TO whole;
                    CREATE TABLE tombstones (LIKE whole INCLUDING DEFAULTS) PARTITION BY HASH (app);
                    CREATE TABLE tombstones_0 PARTITION OF tombstones FOR VALUES WITH (MODULUS 2, REMAINDER 0);
                    CREATE TABLE tombstones_1 PARTITION OF tombstones FOR VALUES WITH (MODULUS 2, REMAINDER 1);
                    GRANT SELECT, UPDATE, DELETE ON tombstones TO bellhop_worker;
                    INSERT INTO tombstones (app, subject_hash, deleted_at, recorded_at)
                    SELECT 'a' || n, '\\x00', age, age
                    FROM generate_series(1, 600) AS n, LATERAL (
                        SELECT now() - CASE n % 3 WHEN 0 THEN interval '91 days' ELSE interval '1 day' END AS age
                    ) AS t;
                    """
                )
            }
            let retired = try await servers.retire(.tombstones)
            #expect(retired == [.tombstones: 200])
            let old = try await servers.count(
                "SELECT count(*) FROM tombstones WHERE recorded_at < now() - interval '90 days'"
            )
            #expect(old == 0)
        }
    }
}

extension PostgresPool {
    /// Returns a pool that no test queries.
    static func unused() throws -> PostgresPool { try ServerFixture.makePool(setUp: [], size: 1) }
}

extension ServerFixture {
    /// Records a notification of each event for the user u1, with one delivery in that state.
    func record(events: [String], state: String) async throws {
        let records = try events.flatMap { event in
            try sending(id: event, users: ["u1"])
        }
        _ = try await WorkerStore(pool: pool).record(records, as: .fresh)
        let ids = records.map(\.key.notification.text)
        _ = try await owner.run(
            "UPDATE deliveries SET state = $1 WHERE notification_id = ANY ($2::text[])",
            [.text(state), .textArray(ids)]
        )
    }

    func age(_ table: String, _ column: String, event: String) async throws {
        _ = try await owner.run(
            Statement("UPDATE \(table) SET \(column) = now() - interval '400 days' WHERE event_id = $1"),
            [.text(event)]
        )
    }

    /// Adds one active device and three of the same user that ended 1 day, 33 days and 400 days ago.
    func addDevices() async throws {
        _ = try await owner.run(
            """
            INSERT INTO push_subscriptions (app, profile_id, id, platform, provider, device_token, subscription,
                                            registered_at, last_seen_at, source_time, revoked_at, ended_at,
                                            revoke_reason)
            SELECT 'drop', 'u1', 'sub_000000000000000' || n, 'ios', 'apns', 't' || n, '{"keys":1}', seen, seen, seen,
                   now() - ended::interval, now() - ended::interval, CASE WHEN ended IS NOT NULL THEN 'Unregistered' END
            FROM (VALUES (1, NULL), (2, '1 day'), (3, '33 days'), (4, '400 days')) AS d (n, ended),
                 LATERAL (SELECT now() - interval '401 days' AS seen) AS s
            """
        )
    }

    /// Walks through one table and returns the number of deleted rows by kind.
    func retire(_ kind: RetentionKind) async throws -> [RetentionKind: Int] {
        let book = RetentionStore(pool: pool, retention: .usual)
        var (page, retired): (Int64?, [RetentionKind: Int]) = (0, [:])
        while let start = page {
            let step = try await book.look(for: kind, from: start, pages: 2)
            retired.merge(step.retired) { $0 + $1 }
            page = step.next
        }
        return retired
    }

    func retireAll() async throws -> Int {
        var sum = 0
        for kind in RetentionKind.allCases { sum += try await retire(kind).values.reduce(0, +) }
        return sum
    }
}
