import BellhopRules
import IntegrationSupport
import Postgres
import Store
import TestSupport
import Testing

@Suite(
    "Restoring revoked devices",
    .limitedConcurrency,
    .enabled(if: Servers.databaseURL != nil, "needs BELLHOP_DATABASE_URL"),
    .timeLimit(.ofTest)
)
struct TakeBackTests {
    /// Adds a device with token `t`, registered on that day of January.
    ///
    /// `reason` is the cause of a revocation just now, or `nil` if the device is active.
    private static func add(_ user: String, day: Int, ended reason: String?, to servers: ServerFixture) async throws {
        _ = try await servers.owner.run(
            """
            INSERT INTO push_subscriptions (app, profile_id, id, platform, provider, device_token, registered_at,
                last_seen_at, source_time, revoked_at, revoke_reason)
            SELECT 'drop', $1, 'sub_00000000000000a1', 'ios', 'fcm', 't', d, d, d, CASE WHEN $3::text IS NOT NULL THEN now() END, $3::text
            FROM (SELECT '2026-01-01'::timestamptz + $2::bigint * interval '1 day' AS d) AS days
            """,
            [.text(user), .integer(Int64(day)), reason.map { .text($0) } ?? .null]
        )
    }

    private static func takeBack(_ servers: ServerFixture) async throws -> [String?] {
        let app = try #require(AppID(validating: "drop"))
        _ = try await WorkerStore(pool: servers.pool).takeBack(
            BreakerKey(app: app, provider: "fcm"),
            since: DeadLetterSamples.ago(600),
            pageSize: 2
        )
        return try await servers.column(
            "SELECT profile_id FROM push_subscriptions WHERE revoked_at IS NULL ORDER BY profile_id"
        )
    }

    @Test("all devices are restored page by page, except those revoked before the alarm")
    func pages() async throws {
        try await ServerFixture.withSchema { servers in
            _ = try await servers.owner.run(
                """
                INSERT INTO push_subscriptions (app, profile_id, id, platform, provider, device_token, registered_at,
                    last_seen_at, source_time, revoked_at, revoke_reason)
                SELECT 'drop', 'u' || n, 'sub_00000000000000a1', 'ios', 'fcm', 't' || n, d, d, d,
                       now() - CASE n % 4 WHEN 0 THEN interval '1 h' ELSE interval '1 min' END, 'UNREGISTERED'
                FROM generate_series(1, 9) n, (SELECT now() - interval '2 d' AS d) AS days
                """
            )
            #expect(try await Self.takeBack(servers) == ["u1", "u2", "u3", "u5", "u6", "u7", "u9"])
        }
    }

    @Test("a device that an answer revoked is restored, and one that its owner logged out is not")
    func owner() async throws {
        try await ServerFixture.withSchema { servers in
            try await Self.add("u1", day: 1, ended: "UNREGISTERED", to: servers)
            #expect(try await Self.takeBack(servers) == ["u1"])
        }
        try await ServerFixture.withSchema { servers in
            try await Self.add("u1", day: 1, ended: RevokeReason.unsubscribed.rawValue, to: servers)
            #expect(try await Self.takeBack(servers).isEmpty)
        }
    }

    @Test(
        "a former owner never gets the device back, whatever happened to the later owner's",
        arguments: [nil, RevokeReason.unsubscribed.rawValue, "UNREGISTERED"]
    )
    func formerOwner(_ ended: String?) async throws {
        try await ServerFixture.withSchema { servers in
            try await Self.add("former", day: 1, ended: "UNREGISTERED", to: servers)
            try await Self.add("later", day: 2, ended: ended, to: servers)
            let wanted: [String?] = ended == RevokeReason.unsubscribed.rawValue ? [] : ["later"]
            #expect(try await Self.takeBack(servers) == wanted)
        }
    }
}
