import BellhopRules
import IntegrationSupport
import Postgres
import Store
import TestSupport
import Testing

@Suite(
    "Counting dead letters",
    .limitedConcurrency,
    .enabled(if: Servers.databaseURL != nil, "needs BELLHOP_DATABASE_URL"),
    .timeLimit(.ofTest)
)
struct DeadLetterStatisticsTests {
    /// Stores five open items of each kind, and `OtherUsers.size` items of some kinds.
    private static func flood(_ servers: ServerFixture) async throws {
        try await OtherUsers.stopCounting(in: servers)
        _ = try await servers.owner.run(
            """
            INSERT INTO dead_letters
                (dead_id, fingerprint, stage, reason, error, app, attempts, first_failed_at, last_failed_at,
                 origin_exchange, origin_routing_key, properties, headers, body, content_hash)
            SELECT concat_ws('-', k.app, k.reason, n), 'f', 'intake', k.reason, '', k.app, 1,
                   now() - n * interval '1 s', now(), '', '', '{}', '{}', '', decode(md5(n::text), 'hex')
            FROM (VALUES ('drop', 'malformed-json', $1), ('drop', 'missing-id', 5), ('sub', 'too-large', 5),
                         ('aaa', 'unknown-app', 5), ('elk', 'unknown-app', $1), (NULL, 'malformed-json', 5))
                 AS k (app, reason, items)
            CROSS JOIN LATERAL generate_series(1, k.items) AS n
            """,
            [.integer(Int64(OtherUsers.size))]
        )
    }

    @Test("the gauge reads a bounded number of open items and still counts the small groups")
    func bounded() async throws {
        try await ServerFixture.withSchema { servers in
            try await Self.flood(servers)
            let apps = Set(["drop", "sub", "zoo"].compactMap(AppID.init(validating:)))
            let pool = try StatementCoverage.pool(on: servers)
            let before = try await OtherUsers.rowsRead(servers, by: pool)["dead_letters"] ?? 0
            let gauge = try await DeadLetterStatistics(of: pool, apps: apps, most: 50)
            let read = try await OtherUsers.rowsRead(servers, by: pool)["dead_letters"] ?? 0
            await pool.close()
            let open = gauge.open.map { "\($0.app?.text ?? "-") \($0.reason) \($0.items)" }.sorted()
            #expect(
                open == [
                    "- malformed-json 5", "- unknown-app 55", "drop malformed-json 50", "drop missing-id 5",
                    "sub too-large 5",
                ]
            )
            // The oldest item of an app is found without reading the others.
            let age = try #require(gauge.oldestAge)
            #expect(age >= Double(OtherUsers.size))
            #expect(read - before < 1000)
        }
    }
}
