import Postgres
import Store
import TestSupport
import Testing
import Workbench

@Suite(
    "Planning",
    .inTurn,
    .enabled(if: Servers.databaseURL != nil, "needs BELLHOP_DATABASE_URL"),
    .timeLimit(.minutes(5))
)
struct PlanningTests {
    private static let fill: Statement = """
        INSERT INTO deliveries (app, user_id, notification_id, channel, target, state)
        SELECT 'drop', 'u' || n, 'u' || n, 'push', 's', 'delivered' FROM generate_series(1, 1000) AS n
        """

    /// What settling a batch asks of the ledger.
    private static let look: Statement = """
        EXPLAIN UPDATE deliveries d SET reason = s.id
        FROM (SELECT 'u' || n AS id FROM generate_series(1, 256) AS n) s
        WHERE d.app = 'drop' AND d.user_id = s.id AND d.notification_id = s.id AND d.channel = 'push' AND d.target = 's'
          AND d.state = 'sending' AND d.claim = 1
        """

    @Test("a worker reads the ledger by its key, also while the server takes it for a small table")
    func byKey() async throws {
        try await Bench.withSchema { bench in
            _ = try await bench.owner.run(Self.fill)
            let workers = try await Self.plan(on: bench.pool)
            let owners = try await Self.plan(on: bench.owner)
            #expect(workers.contains("deliveries_pkey"))
            #expect(!workers.contains("Seq Scan on deliveries"))
            #expect(owners.contains("Seq Scan on deliveries"), "else this test shows nothing")
        }
    }

    private static func plan(on pool: PostgresPool) async throws -> String {
        let rows = try await pool.run(look)
        return try rows.indices.map { try rows.text($0, 0) }.joined(separator: "\n")
    }
}
