import BellhopRules
import IntegrationSupport
import Postgres
import TestSupport
import Testing

@testable import Store

@Suite(
    "First contact",
    .limitedConcurrency,
    .enabled(if: Servers.databaseURL != nil, "needs BELLHOP_DATABASE_URL"),
    .timeLimit(.ofTest)
)
struct FirstContactTests {
    private static func key() throws -> UserKey {
        let app = try #require(AppID(validating: "drop"))
        return UserKey(app: app, user: try #require(UserID(validating: "u1")))
    }

    private static func devices(_ servers: ServerFixture) async throws -> [Device] {
        try await WorkerStore(pool: servers.pool).recipients(of: [try key()]).values.first?.devices ?? []
    }

    /// Registers a device, by a message with this time in seconds.
    private static func register(_ servers: ServerFixture, token: String, at second: Int = 1) async throws {
        let moment = #""sentAtIso":"2026-11-01T00:00:0\#(second)Z""#
        try await servers.feed([
            #"{"app":"drop","eventType":"subscription.upserted","userId":"u1","token":"\#(token)",\#(moment),"platform":"android","provider":"fcm"}"#
        ])
    }

    /// Records every device of the user as reached; returns the number of users whose row has changed.
    private static func note(_ servers: ServerFixture) async throws -> Int {
        let key = try key()
        let reached = try await devices(servers).map { ReachedDevice(recipient: key, device: $0) }
        return try await WorkerStore(pool: servers.pool).note(reached)
    }

    @Test("the marks of several devices are recorded by one change of the user's row, once")
    func several() async throws {
        try await ServerFixture.withSchema { servers in
            try await Self.register(servers, token: "t1")
            try await Self.register(servers, token: "t2")
            #expect(try await Self.devices(servers).map(\.wasReached) == [false, false])
            let counts = [try await Self.note(servers), try await Self.note(servers)]
            #expect(counts == [1, 0])
            try await Self.register(servers, token: "t3")
            #expect(try await Self.devices(servers).count(where: \.wasReached) == 2)
            let notes = try await servers.count("SELECT count(*) FROM push_subscriptions WHERE reached_at IS NOT NULL")
            #expect(notes == 0)
        }
    }

    @Test("a device that is restored stays reached, and one that registers again after its revocation does not")
    func again() async throws {
        try await ServerFixture.withSchema { servers in
            try await Self.register(servers, token: "t1")
            _ = try await Self.note(servers)
            let revoke = "UPDATE push_subscriptions SET revoked_at = now(), revoke_reason = 'UNREGISTERED'"
            _ = try await servers.owner.run(Statement(revoke))
            #expect(try await Self.devices(servers).isEmpty)
            _ = try await servers.owner.run("UPDATE push_subscriptions SET revoked_at = NULL, revoke_reason = NULL")
            #expect(try await Self.devices(servers).map(\.wasReached) == [true])
            _ = try await servers.owner.run(Statement(revoke))
            try await Self.register(servers, token: "t1", at: 2)
            #expect(try await Self.devices(servers).map(\.wasReached) == [false])
            #expect(try await Self.note(servers) == 1)
            #expect(try await Self.devices(servers).map(\.wasReached) == [true])
        }
    }

    @Test("the newest 32 marks are kept, and a device that an earlier release has recorded is reached")
    func limits() async throws {
        try await ServerFixture.withSchema { servers in
            for round in 0..<40 {
                let token = "UPDATE push_subscriptions SET device_token = 't\(round)'"
                if round == 0 {
                    try await Self.register(servers, token: "t0")
                } else {
                    _ = try await servers.owner.run(Statement(token))
                }
                #expect(try await Self.devices(servers).map(\.wasReached) == [false])
                _ = try await Self.note(servers)
                #expect(try await Self.devices(servers).map(\.wasReached) == [true])
            }
            let kept = try await servers.count("SELECT cardinality(string_to_array(reached, ' ')) FROM people")
            #expect(kept == 32)
            _ = try await servers.owner.run("UPDATE people SET reached = NULL")
            _ = try await servers.owner.run("UPDATE push_subscriptions SET reached_at = now()")
            #expect(try await Self.devices(servers).map(\.wasReached) == [true])
            let scope = OutletScope(app: try Self.key().app, provider: "fcm", platform: .android)
            #expect(try await WorkerStore(pool: servers.pool).platformsReached() == [scope])
        }
    }
}
