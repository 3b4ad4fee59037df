import BellhopRules
import IntegrationSupport
import Postgres
import TestSupport
import Testing

@testable import Store

/// Inbox and ledger spread over several tables.
@Suite(
    "Partitions",
    .limitedConcurrency,
    .enabled(if: Servers.databaseURL != nil, "needs BELLHOP_DATABASE_URL"),
    .timeLimit(.ofTest)
)
struct PartitionTests {
    @Test("every statement of workers and schedulers uses a key of each partition, too")
    func wholeTour() async throws {
        try await ServerFixture.withSchema(partitions: 8) { servers in
            let pool = try StatementCoverage.pool(on: servers)
            try await StatementCoverage(servers: servers, pool: pool, round: 1).run()
            let keys = try await Keys(in: servers)
            let looks = try await ServerPlans.looks(on: pool)
            await pool.close()
            #expect(looks.contains { $0.table == "ledger_7" })
            for look in looks where !keys.suffice(for: look) { Issue.record("\(look)") }
        }
    }

    @Test("a batch searches only the partition of each user")
    func pruned() async throws {
        let plain = try await ServerFixture.withSchema { servers in try await Self.searches(in: servers) }
        let spread = try await ServerFixture.withSchema(partitions: 8) { servers in try await Self.searches(in: servers)
        }
        #expect(plain > 100)
        #expect(spread <= plain)
    }

    /// Returns the number of index searches in inbox and ledger during the usual steps of a batch of 30.
    private static func searches(in servers: ServerFixture) async throws -> Int {
        let pool = try StatementCoverage.pool(on: servers)
        let inbox = WorkerStore(pool: pool)
        let ledger = WorkerStore(pool: pool, lease: .zero)
        let claim = Claim.fresh
        let records = try servers.sending(id: "e1", users: (1...30).map { "u\($0)" })
        _ = try await inbox.record(records, as: claim)
        _ = try await inbox.record(records, as: .fresh)
        let keys = records.map(\.key)
        _ = try await inbox.notifications(keys)
        let people = try await WorkerStore(pool: pool).recipients(of: keys.map(\.recipient))
        _ = try await inbox.unread(of: Array(people.keys))
        let lines = try await ledger.claim(keys, as: claim).claimed.map(\.key)
        let taken = lines.prefix(10).map { Settlement($0, .accepted, providerMessageID: "t", dueIn: .zero) }
        _ = try await ledger.settle(lines.dropFirst(10).map { Settlement($0, .delivered) } + taken, of: claim)
        let asked = try await WorkerStore(pool: pool).claimReceipts(lines, as: .fresh)
        #expect(asked.count == 10)
        _ = try await OtherUsers.rowsRead(servers, by: pool)
        await pool.close()
        return try await servers.count(
            """
            SELECT sum(idx_scan)::bigint FROM pg_stat_user_indexes
            WHERE schemaname = $1 AND relname ~ '^(inbox|ledger)(_[0-9]+)?$'
            """,
            [.text("\(servers.namespace)")]
        )
    }

    @Test(
        "the number of partitions is set when the tables are made, and a migration with another number is refused"
    )
    func chosenOnce() async throws {
        try await ServerFixture.withSchema(partitions: 8) { servers in
            let migrator = Migrator(pool: servers.owner, namespace: servers.namespace)
            #expect(try await migrator.migrate() == .applied([]))
            #expect(try await migrator.migrate(partitions: 8) == .applied([]))
            guard case .refused(let why) = try await migrator.migrate(partitions: 64) else {
                Issue.record("64 partitions were accepted")
                return
            }
            #expect(why.contains("8 partitions, not 64"))
            let fill = try await servers.count(
                "SELECT count(*) FROM pg_class WHERE relname ~ '^ledger_[0-9]$' AND 'fillfactor=42' = ANY (reloptions)"
                    + " AND relnamespace = '\(servers.namespace)'::regnamespace"
            )
            #expect(fill == 8)
        }
    }
}
