import BellhopRules
import IntegrationSupport
import Sandbox
import TestSupport
import Testing

@Suite(
    "Unreached devices with invented tokens",
    .limitedConcurrency,
    .enabled(
        if: Servers.amqpURL != nil && Servers.databaseURL != nil,
        "needs BELLHOP_AMQP_URL and BELLHOP_DATABASE_URL"
    ),
    .timeLimit(.ofTest)
)
struct StrangerTests {
    /// An app's provider, and its answer to an invented token.
    struct Way: Sendable {
        let app: String
        let provider: PushProvider
        let platform: String
        let type: String
        let good: String
        let bad: String
        let word: String

        static let fcm = Way(
            app: "drop",
            provider: .fcm,
            platform: "android",
            type: "transaction_complete",
            good: "good",
            bad: "foreign-",
            word: "SENDER_ID_MISMATCH"
        )
        static let apns = Way(
            app: "padel",
            provider: .apns,
            platform: "ios",
            type: "scheduled_match_new",
            good: String(repeating: "5a", count: 32),
            bad: "bad0" + String(repeating: "0", count: 54),
            word: "BadDeviceToken"
        )

        /// Returns the n-th token without a device.
        func bad(_ number: Int) -> String {
            let digits = String(100_000 + number)
            return bad + digits
        }
    }

    /// Registers this number of accounts with twenty unreached devices each.
    private static func register(_ strangers: Int, _ way: Way, _ peer: ProviderPeer) async throws {
        let pipeline = peer.pipeline
        try await pipeline.publish(
            (0..<strangers * 20).map { number in
                let device = #""token":"\#(way.bad(number))","platform":"\#(way.platform)""#
                let body = #"{"userId":"s\#(number / 20)",\#(device),"provider":"\#(way.provider.rawValue)"}"#
                return pipeline.event(body, key: "\(way.app).subscription.upserted")
            }
        )
        try await pipeline.wait(
            for: strangers * 20,
            "SELECT count(*) FROM push_subscriptions WHERE profile_id LIKE 's%'"
        )
        if way.provider == .fcm {
            let answer = SandboxFault.Answer(status: 403, reason: way.word)
            peer.sandbox.setFaults([SandboxFault(.fcm, .answer(answer), match: way.bad)])
        }
    }

    @Test(
        "four or five users with invented tokens lose only those devices and delay no other user",
        arguments: [Way.fcm, Way.apns],
        [4, 5]
    )
    func holdUpNobody(_ way: Way, _ strangers: Int) async throws {
        try await ProviderPeer.run(app: way.app, over: way.provider) { peer in
            let pipeline = peer.pipeline
            try await peer.register("u1", way.platform, token: way.good)
            try await peer.publish(["e0"], to: ["u1"], type: way.type)
            try await pipeline.wait(for: 1, ServerFixture.countOfDevices(reached: true))
            await pipeline.outlets.refresh()
            try await Self.register(strangers, way, peer)
            try await peer.publish(["e1"], to: (0..<strangers).map { "s\($0)" }, type: way.type)
            let revoked = "SELECT count(*) FROM push_subscriptions WHERE revoke_reason = '\(way.word)'"
            try await pipeline.wait(for: strangers * 20, revoked)
            try await peer.publish(["e2"], to: ["u1"], type: way.type)
            try await pipeline.wait(
                for: 2,
                "SELECT count(*) FROM deliveries WHERE user_id = 'u1' AND state = 'delivered'"
            )
            #expect(!pipeline.metrics.text().contains("bellhop_breaker_openings_total{"))
        }
    }

    @Test("unreached devices are retried while the credentials are unproven, and reached devices get their pushes")
    func benefitOfDoubt() async throws {
        try await ProviderPeer.run { peer in
            let pipeline = peer.pipeline
            try await peer.register("u1", "android", token: "good")
            _ = try await pipeline.servers.owner.run("UPDATE push_subscriptions SET reached_at = now()")
            await pipeline.outlets.refresh()
            try await Self.register(5, .fcm, peer)
            try await peer.publish(["e1"], to: (0..<5).map { "s\($0)" })
            let waiting = "state IN ('retrying', 'deferred') AND reason = 'SENDER_ID_MISMATCH' AND attempts = 1"
            try await pipeline.wait(for: 100, "SELECT count(*) FROM deliveries WHERE \(waiting)")
            try await peer.publish(["e2"], to: ["u1"])
            try await pipeline.wait(for: 1, "SELECT count(*) FROM deliveries WHERE state = 'delivered'")
            #expect(try await pipeline.servers.count("SELECT count(*) FROM breakers") == 0)
            let revoked = "SELECT count(*) FROM push_subscriptions WHERE revoked_at IS NOT NULL"
            #expect(try await pipeline.servers.count(revoked) == 0)
        }
    }

    @Test("the breaker opens if reached devices are rejected, and no device is revoked")
    func honestFault() async throws {
        try await ProviderPeer.run { peer in
            let pipeline = peer.pipeline
            let users = (0..<6).map { "u\($0)" }
            try await peer.register(users.map { ($0, "t-\($0)") })
            _ = try await pipeline.servers.owner.run("UPDATE push_subscriptions SET reached_at = now()")
            await pipeline.outlets.refresh()
            let answer = SandboxFault.Answer(status: 403, reason: "SENDER_ID_MISMATCH")
            peer.sandbox.setFaults([SandboxFault(.fcm, .answer(answer)).limited(count: users.count)])
            try await peer.publish(["e1"], to: users)
            try await pipeline.wait(
                for: 6,
                "SELECT count(*) FROM deliveries WHERE state = 'delivered' AND attempts = 1"
            )
            try await eventually("it is counted") {
                pipeline.metrics.text().contains(#"provider="fcm",reason="SENDER_ID_MISMATCH"} 1"#)
            }
            let revoked = "SELECT count(*) FROM push_subscriptions WHERE revoked_at IS NOT NULL"
            #expect(try await pipeline.servers.count(revoked) == 0)
        }
    }

    @Test("many gone unreached devices raise no alarm if other devices were reached")
    func deadStrangers() async throws {
        try await ProviderPeer.run { peer in
            let pipeline = peer.pipeline
            try await peer.register([("u1", "good")])
            _ = try await pipeline.servers.owner.run("UPDATE push_subscriptions SET reached_at = now()")
            await pipeline.outlets.refresh()
            let strangers = (0..<60).map { "s\($0)" }
            try await peer.register("s", "android", token: "dead-s")
            try await pipeline.publish(
                strangers.map { user in
                    let body = #"{"userId":"\#(user)","token":"dead-\#(user)","platform":"android","provider":"fcm"}"#
                    return pipeline.event(body, key: "drop.subscription.upserted")
                }
            )
            try await pipeline.wait(for: 62, "SELECT count(*) FROM push_subscriptions")
            let answer = SandboxFault.Answer(status: 404, reason: "UNREGISTERED")
            peer.sandbox.setFaults([SandboxFault(.fcm, .answer(answer), match: "dead-")])
            try await peer.publish(["e1"], to: strangers)
            try await pipeline.wait(for: 60, "SELECT count(*) FROM push_subscriptions WHERE revoked_at IS NOT NULL")
            #expect(try await pipeline.servers.count("SELECT count(*) FROM breakers") == 0)
        }
    }

    @Test("a device stays reached until its token, its environment or its platform changes")
    func reachedOnce() async throws {
        try await ProviderPeer.run { peer in
            let pipeline = peer.pipeline
            let words = [
                #""token":"t1","platform":"android","environment":"sandbox""#,
                #""token":"t2","replaces":"t1","platform":"android""#,
                #""token":"t2","platform":"web""#,
            ]
            try await peer.register("u1", "android", token: "t1")
            for (round, device) in words.enumerated() {
                try await peer.publish(["e\(round)"], to: ["u1"])
                try await pipeline.wait(for: 1, ServerFixture.countOfDevices(reached: true))
                let body = #"{"userId":"u1",\#(device),"provider":"fcm"}"#
                try await pipeline.publish([pipeline.event(body, key: "drop.subscription.upserted")])
                try await pipeline.wait(for: 1, ServerFixture.countOfDevices(reached: false))
            }
        }
    }
}
