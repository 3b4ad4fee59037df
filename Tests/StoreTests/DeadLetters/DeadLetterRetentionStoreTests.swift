import BellhopRules
import IntegrationSupport
import Postgres
import ServiceRuntime
import Settings
import Store
import TestSupport
import Testing

@Suite(
    "Dead-letter retention",
    .limitedConcurrency,
    .enabled(if: Servers.databaseURL != nil, "needs BELLHOP_DATABASE_URL"),
    .timeLimit(.ofTest)
)
struct DeadLetterRetentionStoreTests {
    @Test("only old exported items that are resolved or discarded are deleted, and the audit records the count")
    func deletes() async throws {
        try await prepared { servers in
            let retention = try #require(DeadLetterRetention("30d"))
            let count = try await DeadLetterRetentionStore(pool: servers.pool, retention: retention).deleteBatch()
            #expect(count == 1)
            let left = try await servers.column("SELECT dead_id FROM dead_letters ORDER BY dead_id")
            #expect(left == ["open", "resolved-new", "resolved-unexported"])
            let audit = try await servers.column("SELECT concat_ws('|', operator, act, items, because) FROM audit")
            #expect(audit == ["bellhop|delete|1|kept for 30d"])
        }
    }

    @Test("the option `unexported` also deletes items without an export, but no open items")
    func unexported() async throws {
        try await prepared { servers in
            let retention = try #require(DeadLetterRetention("30d,unexported"))
            let retirement = DeadLetterRetentionStore(pool: servers.pool, retention: retention)
            let counts = [try await retirement.deleteBatch(), try await retirement.deleteBatch()]
            #expect(counts == [2, 0])
            let left = try await servers.column("SELECT dead_id FROM dead_letters ORDER BY dead_id")
            #expect(left == ["open", "resolved-new"])
            let lines = try await servers.count("SELECT count(*) FROM audit")
            #expect(lines == 1)
        }
    }

    @Test("dashboards get counts by app and reason, the oldest age, and outcomes")
    func gauge() async throws {
        try await ServerFixture.withSchema { servers in
            let drop = try #require(AppID(validating: "drop"))
            let letters = [
                DeadLetterSamples.rejected("a", failedAt: DeadLetterSamples.ago(300)),
                DeadLetterSamples.rejected("b", app: nil),
                DeadLetterSamples.rejected("c", reason: "missing-id"), DeadLetterSamples.rejected("d"),
            ]
            _ = try await DeadLetterStore(pool: servers.pool).file(letters)
            let gauge = try await DeadLetterStatistics(of: servers.pool, apps: [drop])
            let open = gauge.open.map { "\($0.app?.text ?? "-") \($0.reason) \($0.items)" }.sorted()
            #expect(open == ["- malformed-json 1", "drop malformed-json 2", "drop missing-id 1"])
            let age = try #require(gauge.oldestAge)
            #expect(age >= 299 && age < 900)
            #expect(gauge.outcomes.isEmpty)
            _ = try await servers.owner.run("UPDATE dead_letters SET state = 'resolved'")
            let empty = try await DeadLetterStatistics(of: servers.pool, apps: [drop])
            #expect(empty.open.isEmpty)
            #expect(empty.oldestAge == nil)
        }
    }

    private func prepared(_ body: (ServerFixture) async throws -> Void) async throws {
        try await ServerFixture.withSchema { servers in
            let ids = ["open", "resolved-new", "resolved-old", "resolved-unexported"]
            _ = try await DeadLetterStore(pool: servers.pool).file(ids.map { DeadLetterSamples.rejected($0) })
            _ = try await servers.owner.run(
                """
                UPDATE dead_letters SET state = CASE WHEN dead_id = 'open' THEN 'open' ELSE 'resolved' END,
                    changed_at = now() - CASE WHEN dead_id = 'resolved-new' THEN interval '0' ELSE interval '31 days' END,
                    exported_at = CASE WHEN dead_id <> 'resolved-unexported' THEN now() END
                """
            )
            try await body(servers)
        }
    }
}
