import BellhopRules
import IntegrationSupport
import Postgres
import Store
import TestSupport
import Testing

@Suite(
    "Concurrent feeds",
    .limitedConcurrency,
    .enabled(if: Servers.databaseURL != nil, "needs BELLHOP_DATABASE_URL"),
    .timeLimit(.ofTest)
)
struct FeedOrderTests {
    /// Returns a batch with messages of every kind about the users, in their order.
    private static func batch(_ users: [String], round: Int) throws -> [FeedEntry] {
        var words: [String] = []
        for (place, user) in users.enumerated() {
            // The later message comes first, so that each user's messages fall into several rounds.
            let time = "2026-03-01T12:\(10 + round % 40):\(10 + place)Z"
            let base = #""app":"drop","userId":"\#(user)","sentAtIso":"\#(time)""#
            words += [
                #"{\#(base),"eventType":"recipient.upserted","timezone":"Europe/Oslo","preferences":{"enabled":true}}"#,
                #"{\#(base),"eventType":"follow.added","topic":"venue:1"}"#,
                #"{\#(base),"eventType":"reminder.set","id":"r","localTime":"09:00","title":"T","body":"B"}"#,
                #"{\#(base),"eventType":"subscription.upserted","token":"t\#(user)","platform":"ios","provider":"fcm"}"#,
                #"{\#(base),"eventType":"subscription.upserted","token":"shared","platform":"ios","provider":"fcm"}"#,
                #"{\#(base),"eventType":"subscription.revoked","token":"t\#(user)"}"#,
            ]
        }
        return try words.map { FeedEntry(update: try ServerFixture.update($0), arrival: Timestamp(clamping: 0)) }
    }

    @Test("two sessions that feed the same users in opposite orders never deadlock with a third that revokes")
    func opposite() async throws {
        try await ServerFixture.withSchema { servers in
            let users = ["a", "b", "c", "d"]
            _ = try await WorkerStore(pool: servers.pool).apply(try Self.batch(users, round: 0))
            let dead = try await Self.devices(servers)
            let said = await withTaskGroup(of: [String].self) { group in
                for order in [users, users.reversed()] {
                    group.addTask {
                        await Self.failures(60) { round in
                            _ = try await WorkerStore(pool: servers.pool).apply(try Self.batch(order, round: round))
                        }
                    }
                }
                group.addTask {
                    await Self.failures(120) { round in
                        let devices = round % 2 == 0 ? dead : dead.reversed()
                        _ = try await WorkerStore(pool: servers.pool).revoke(devices)
                    }
                }
                return await group.reduce(into: []) { $0 += $1 }
            }
            #expect(said.isEmpty)
        }
    }

    /// Runs a body `rounds` times and returns the errors.
    private static func failures(_ rounds: Int, _ body: (Int) async throws -> Void) async -> [String] {
        var failures: [String] = []
        for round in 0..<rounds {
            do { try await body(round) } catch { failures.append("\(error)") }
        }
        return failures
    }

    private static func devices(_ servers: ServerFixture) async throws -> [DeadDevice] {
        let rows = try await servers.owner.run(
            "SELECT profile_id, id, device_token FROM push_subscriptions ORDER BY id",
            []
        )
        return try rows.indices.map { row in
            DeadDevice(
                recipient: UserKey(
                    app: try #require(AppID(validating: "drop")),
                    user: try #require(UserID(validating: try rows.text(row, 0)))
                ),
                subscription: try rows.text(row, 1),
                token: try #require(DeviceToken(validating: try rows.text(row, 2))),
                reason: "UNREGISTERED",
                deadSince: Timestamp(clamping: 1_800_000_000_000_000)
            )
        }
    }

    @Test("a revoked device that registers again is restored, even if the clock of its source is behind")
    func slowSource() async throws {
        try await ServerFixture.withSchema { servers in
            func register(_ second: Int) async throws {
                let time = "2026-03-01T12:00:0\(second)Z"
                let device = #""userId":"u1","token":"t","platform":"ios","provider":"fcm","sentAtIso":"\#(time)""#
                try await servers.feed([#"{"app":"drop","eventType":"subscription.upserted",\#(device)}"#])
            }
            let living = "SELECT count(*) FROM push_subscriptions WHERE revoked_at IS NULL"
            try await register(1)
            let revoked = try await WorkerStore(pool: servers.pool).revoke(try await Self.devices(servers))
            #expect(revoked == 1)
            // The database's clock is later than every source time of this test.
            try await register(1)
            #expect(try await servers.count(living) == 0)
            try await register(2)
            #expect(try await servers.count(living) == 1)
        }
    }
}
