import Postgres
import Store
import TestSupport
import Testing
import Workbench

@testable import Commands

@Suite("bellhop revoke-stale", .inTurn, .enabled(if: Servers.databaseURL != nil, "needs BELLHOP_DATABASE_URL"))
struct RevokeStaleTests {
    @Test("devices that were silent for so long are ended with their reason, the others are not, and twice is once")
    func revokes() async throws {
        try await Bench.withSchema { bench in
            try await bench.owner.withConnection { (connection) throws(PostgresError) in
                try connection.execute(
                    """
                    SET ROLE bellhop_worker;
                    INSERT INTO push_subscriptions (app, profile_id, id, platform, provider, device_token, registered_at,
                                                    last_seen_at, source_time)
                    SELECT 'drop', 'u' || n, 'sub_000000000000000' || n, 'ios', 'apns', 't' || n, seen, seen, seen
                    FROM generate_series(1, 5) n, LATERAL (SELECT now() - n * interval '40 days' AS seen) AS s
                    """
                )
            }
            try await Workplace.withPrompt(on: bench) { prompt, _ in
                let json = await prompt.run("revoke-stale", "--days", "90", "--json")
                #expect(json.code == .done)
                #expect(json.output == #"{"revoked":3}"#)
                let reasons = try await bench.column(
                    "SELECT concat_ws('|', profile_id, revoke_reason) FROM push_subscriptions ORDER BY profile_id"
                )
                #expect(reasons == ["u1", "u2", "u3|stale", "u4|stale", "u5|stale"])
                let again = await prompt.run("revoke-stale", "--days", "90")
                #expect(again.output.hasPrefix("ended 0 subscriptions not seen for 90 days"))
            }
        }
    }

    @Test("page by page every device is looked at, and how far it has come is told")
    func pages() async throws {
        try await Bench.withSchema { bench in
            _ = try await bench.pool.run(
                """
                INSERT INTO push_subscriptions (app, profile_id, id, platform, provider, device_token, registered_at,
                                                last_seen_at, source_time)
                SELECT 'drop', 'u' || n, 'sub_000000000000000' || n, 'ios', 'apns', 't' || n, seen, seen, seen
                FROM generate_series(1, 5) n, LATERAL (SELECT now() - n * interval '40 days' AS seen) AS s
                """
            )
            var told: [RevocationBook.Progress] = []
            let count = try await RevocationBook(pool: bench.pool).revokeStale(days: 90, pageSize: 2) {
                told.append($0)
            }
            #expect(count == 3)
            #expect(told.map(\.looked) == [2, 4, 5])
            #expect(told.map(\.changed) == [0, 2, 3])
        }
    }

    @Test(
        "without days, or with ones that are none, it says what it wants",
        arguments: [[], ["--days", "0"], ["--days", "x"]]
    )
    func usage(words: [String]) async {
        let answer = await Prompt().run(["revoke-stale"] + words)
        #expect(answer.code == .usage)
        #expect(answer.complaints.contains("--days"))
    }
}
