import BellhopRules
import IntegrationSupport
import Postgres
import Store
import TestSupport
import Testing

/// The cost of a worker's statements must not depend on the age of the table statistics.
@Suite(
    "Planning",
    .limitedConcurrency,
    .enabled(if: Servers.databaseURL != nil, "needs BELLHOP_DATABASE_URL"),
    .timeLimit(.ofTest)
)
struct PlanningTests {
    @Test("every statement uses a key, whatever statistics the server had when it planned it")
    func byKey() async throws {
        try await ServerFixture.withSchema { servers in
            try await OtherUsers.stopCounting(in: servers)
            try await Self.look(servers, round: 1, "on tables without statistics")
            try await OtherUsers.forget(in: servers)
            try await OtherUsers.count(in: servers)
            let first = try StatementCoverage.pool(on: servers)
            try await Self.closing(first) {
                try await StatementCoverage(servers: servers, pool: first, round: 2).run()
                // Before the rows arrive: a schema that another test creates meanwhile makes the server plan again.
                try await Self.expectKeys(servers, on: first, "on tables that were empty when they were counted")
                try await OtherUsers.arrive(at: servers)
                try await Self.expectKeys(servers, on: first, "on tables that were empty when they were counted")
                try await Self.expectFewRows(servers, first, round: 3)
            }
            try await Self.look(servers, round: 4, "on tables that have grown since they were counted")
            try await OtherUsers.count(in: servers)
            try await Self.look(servers, round: 5, "on tables that are counted")
        }
    }

    @Test("the checks of the plans cover every statement of workers and schedulers")
    func complete() async throws {
        try await ServerFixture.withSchema { servers in
            let pool = try StatementCoverage.pool(on: servers)
            try await Self.closing(pool) {
                try await StatementCoverage(servers: servers, pool: pool, round: 1).run()
                let run = try await ServerPlans.prepared(on: pool).map(\.sql.normalised)
                let written = try WrittenStatements.all()
                #expect(written.count > 60)
                for statement in written {
                    let isRun = run.contains { statement.matches($0) }
                    #expect(
                        isRun,
                        "StatementCoverage does not run this one of \(statement.file): \(statement.fragments)"
                    )
                }
            }
        }
    }

    @Test("an operator's count and discard for a hold use a key on tables that have grown")
    func discards() async throws {
        try await ServerFixture.withSchema { servers in
            try await OtherUsers.stopCounting(in: servers)
            try await OtherUsers.count(in: servers)
            try await OtherUsers.arrive(at: servers)
            let app = try StatementCoverage.identifier(AppID(validating: "drop"))
            let type = try StatementCoverage.identifier(EventType(validating: "system"))
            let admin = try ServerFixture.makePool(setUp: servers.namespace.setUp(as: .admin), size: 1)
            _ = try await servers.owner.run(
                """
                INSERT INTO deliveries (app, user_id, notification_id, channel, target, state, outlet, queued_at)
                VALUES ('drop', 'u', 'n', 'push', 'a', 'deferred', 'drop/fcm//system', now())
                """
            )
            try await Self.closing(admin) {
                let (holds, ada) = (HoldAdmin(pool: admin), ActingOperator(name: "ada", because: "a look"))
                let placing = try await holds.place(HoldScope(app: app, type: type), by: ada)
                guard case .placed(let hold) = placing else { throw ServerFixtureError("not placed: \(placing)") }
                let selection = HoldSelection(hold.scope, of: hold.number, event: EventID(validating: "e1"))
                _ = try await (holds.count(selection), holds.countDeferred(selection))
                _ = try await holds.discard(selection, agreed: 1, by: ada, pausing: .zero)
                let keys = try await Keys(in: servers)
                let looks = try await ServerPlans.looks(on: admin)
                #expect(looks.contains { $0.table.hasPrefix("ledger") })
                for look in looks where !keys.suffice(for: look) { Issue.record("\(look)") }
            }
        }
    }

    @Test("an overview of waiting retries stops its count at a limit, and reports the limit")
    func retries() async throws {
        try await ServerFixture.withSchema { servers in
            try await OtherUsers.stopCounting(in: servers)
            try await OtherUsers.count(in: servers)
            try await OtherUsers.arrive(at: servers)
            _ = try await servers.owner.run(
                """
                UPDATE ledger
                SET state = 'r', reason = CASE hashint8(person) & 1 WHEN 0 THEN 'UNAVAILABLE' ELSE 'QUOTA_EXCEEDED' END
                WHERE due_at IS NOT NULL AND sent_at IS NULL
                """
            )
            let admin = try ServerFixture.makePool(setUp: servers.namespace.setUp(as: .admin), size: 1)
            try await Self.closing(admin) {
                let waiting = try await RetryAdmin(pool: admin).waiting(atMost: RetryStore.mostInOverview)
                #expect(waiting.map(\.count) == [RetryStore.mostInOverview])
                #expect(waiting.first?.isCapped == true)
            }
        }
    }

    @Test("the size of an audience is counted by a key and up to its limit, also by a plan for empty tables")
    func audiences() async throws {
        try await ServerFixture.withSchema { servers in
            try await OtherUsers.stopCounting(in: servers)
            try await OtherUsers.count(in: servers)
            // The server explains plans by the settings of a worker's session, which the counts set for themselves.
            let worker = try StatementCoverage.pool(on: servers)
            try await Self.closing(worker) {
                _ = try await Self.audiences(worker)
                try await Self.expectBounds(servers, worker)
            }
            let admin = try ServerFixture.makePool(setUp: servers.namespace.setUp(as: .admin), size: 1)
            try await Self.closing(admin) {
                _ = try await Self.audiences(admin)
                try await OtherUsers.arrive(at: servers)
                // Devices of other apps, before those of this one in the order of users.
                _ = try await servers.owner.run(
                    """
                    INSERT INTO push_subscriptions (app, profile_id, id, platform, provider, device_token, registered_at,
                        last_seen_at, source_time)
                    SELECT 'padel', 'a-' || n, 'sub_0000000000000008', 'ios', 'fcm', 'a-' || n, now(), now(), now()
                    FROM generate_series(1, 5000) n
                    """
                )
                let before = try await OtherUsers.rowsRead(servers, by: admin)
                let sizes = try await Self.audiences(admin)
                #expect(sizes.map(\.isCapped) == [true, true, true])
                #expect(sizes.map(\.users) == [100, 100, 0])
                let after = try await OtherUsers.rowsRead(servers, by: admin)
                for (table, rows) in after {
                    let read = rows - (before[table] ?? 0)
                    #expect(read < 1_000, "\(read) rows of \(table)")
                }
            }
        }
    }

    /// Counts followers, everyone, and users with a device outside of everyone, up to 100 rows each.
    private static func audiences(_ pool: PostgresPool) async throws -> [AudienceSize] {
        [
            try await AudienceSize(of: AudienceName(app: "drop", topic: "venue:1"), on: pool, upTo: 100),
            try await AudienceSize(of: AudienceName(app: "drop", topic: nil), on: pool, upTo: 100),
            try await AudienceSize(outsideOfEveryoneIn: "drop", on: pool, among: 100),
        ]
    }

    private static func expectBounds(_ servers: ServerFixture, _ pool: PostgresPool) async throws {
        let keys = try await Keys(in: servers)
        let looks = try await ServerPlans.looks(on: pool)
        #expect(Set(looks.map(\.table)).isSuperset(of: ["follows", "recipients", "push_subscriptions"]))
        for look in looks where !keys.suffice(for: look) { Issue.record("\(look)") }
    }

    @Test("a statement that reads a whole table for each element of a batch is detected")
    func finds() async throws {
        try await ServerFixture.withSchema { servers in
            try await OtherUsers.count(in: servers)
            let pool = try StatementCoverage.pool(on: servers)
            try await Self.closing(pool) {
                _ = try await pool.run(
                    """
                    SELECT r.app FROM unnest($1::text[], $2::bytea[]) AS r (app, subject_hash)
                    JOIN tombstones t ON t.app = r.app AND t.subject_hash = r.subject_hash
                    """,
                    [.textArray([]), .bytesArray([])]
                )
                let keys = try await Keys(in: servers)
                let faults = try await ServerPlans.looks(on: pool).filter { !keys.suffice(for: $0) }
                #expect(faults.map(\.table) == ["tombstones"])
            }
        }
    }

    private static func look(_ servers: ServerFixture, round: Int, _ situation: String) async throws {
        let pool = try StatementCoverage.pool(on: servers)
        try await closing(pool) {
            try await StatementCoverage(servers: servers, pool: pool, round: round).run()
            try await expectKeys(servers, on: pool, situation)
        }
    }

    private static func expectKeys(_ servers: ServerFixture, on pool: PostgresPool, _ situation: String) async throws {
        let keys = try await Keys(in: servers)
        let looks = try await ServerPlans.looks(on: pool)
        #expect(looks.count > 80)
        for look in looks where !keys.suffice(for: look) {
            Issue.record("\(situation): \(look)")
        }
    }

    /// Runs a whole tour on large tables with plans that were made for empty ones.
    private static func expectFewRows(_ servers: ServerFixture, _ pool: PostgresPool, round: Int) async throws {
        let before = try await OtherUsers.rowsRead(servers, by: pool)
        try await StatementCoverage(servers: servers, pool: pool, round: round, walks: false).run()
        let after = try await OtherUsers.rowsRead(servers, by: pool)
        for (table, rows) in after {
            let read = rows - (before[table] ?? 0)
            #expect(read < OtherUsers.size / 10, "\(read) rows of \(table)")
        }
    }

    private static func closing(_ pool: PostgresPool, _ body: () async throws -> Void) async throws {
        let result: Result<Void, any Error>
        do { result = .success(try await body()) } catch { result = .failure(error) }
        await pool.close()
        try result.get()
    }
}
