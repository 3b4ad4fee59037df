import IntegrationSupport
import Postgres
import Sandbox
import TestSupport
import Testing

@Suite(
    "Providers that reject the configuration",
    .limitedConcurrency,
    .enabled(
        if: Servers.amqpURL != nil && Servers.databaseURL != nil,
        "needs BELLHOP_AMQP_URL and BELLHOP_DATABASE_URL"
    ),
    .timeLimit(.ofTest)
)
struct BreakerTests {
    private static func refusal(_ status: Int, _ reason: String, match: String? = nil) -> SandboxFault {
        SandboxFault(.fcm, .answer(.init(status: status, reason: reason)), match: match)
    }

    @Test("deliveries wait while the settings are wrong, use no attempt and are not dead letters, and are sent later")
    func wrongSettings() async throws {
        try await ProviderPeer.run { peer in
            try await peer.register((0..<40).map { ("u\($0)", "t\($0)") })
            peer.sandbox.setFaults([Self.refusal(403, "PERMISSION_DENIED")])
            try await peer.publish(["e1", "e2"], to: (0..<40).map { "u\($0)" })
            let servers = peer.pipeline.servers
            try await peer.pipeline.wait(
                for: 80,
                "SELECT count(*) FROM deliveries WHERE state IN ('deferred', 'pending', 'sending') AND reason = 'breaker'"
            )
            #expect(try await servers.column("SELECT reason FROM breakers") == ["PERMISSION_DENIED"])
            try await peer.pipeline.wait(for: 1, "SELECT count(*) FROM breakers WHERE failures >= 2")
            #expect(try await servers.count("SELECT count(*) FROM deliveries WHERE attempts > 0") == 0)
            #expect(try await servers.count("SELECT count(*) FROM dead_letters") == 0)
            // Only one message at a time probes the open breaker; each of the others was sent at most once.
            #expect(peer.sandbox.received(.fcm).count < 160)
            peer.sandbox.setFaults([])
            try await peer.waitUntilSettled(80)
            #expect(
                try await servers.count("SELECT count(*) FROM deliveries WHERE state = 'delivered' AND attempts = 1")
                    == 80
            )
            try await peer.pipeline.wait(for: 0, "SELECT count(*) FROM breakers")
        }
    }

    @Test("a breaker of one platform delays only that platform")
    func onePlatform() async throws {
        try await ProviderPeer.run { peer in
            try await peer.register([("u1", "android-1")])
            let pipeline = peer.pipeline
            try await pipeline.publish([
                pipeline.event(
                    #"{"userId":"u1","token":"apple-1","platform":"ios","provider":"fcm"}"#,
                    key: "drop.subscription.upserted"
                )
            ])
            try await pipeline.wait(for: 2, "SELECT count(*) FROM push_subscriptions")
            peer.sandbox.setFaults([Self.refusal(401, "THIRD_PARTY_AUTH_ERROR", match: "apple-1")])
            try await peer.publish((0..<10).map { "e\($0)" }, to: ["u1"])
            try await pipeline.wait(for: 10, "SELECT count(*) FROM deliveries WHERE state = 'delivered'")
            try await pipeline.wait(for: 1, "SELECT count(*) FROM breakers WHERE platform = 'ios'")
            #expect(try await pipeline.servers.count("SELECT count(*) FROM breakers") == 1)
            peer.sandbox.setFaults([])
            try await peer.waitUntilSettled(20)
            #expect(try await pipeline.servers.count("SELECT count(*) FROM deliveries WHERE state = 'delivered'") == 20)
        }
    }

    @Test("no device stays revoked if a provider reports every device gone, and all is delivered after its recovery")
    func massDeath() async throws {
        try await ProviderPeer.run { peer in
            let users = (0..<120).map { "u\($0)" }
            try await peer.register(users.map { ($0, "t-\($0)") })
            peer.sandbox.setFaults([Self.refusal(404, "UNREGISTERED")])
            // Some devices are revoked singly, before the mass failure is detected.
            try await peer.publish(["first"], to: ["u0"])
            let pipeline = peer.pipeline
            try await pipeline.wait(for: 1, "SELECT count(*) FROM push_subscriptions WHERE revoked_at IS NOT NULL")
            try await peer.publish(["e1"], to: users)
            try await pipeline.wait(
                for: 1,
                "SELECT count(*) FROM breakers WHERE reason = 'mass-death' AND failures >= 1"
            )
            try await pipeline.wait(for: 0, "SELECT count(*) FROM push_subscriptions WHERE revoked_at IS NOT NULL")
            peer.sandbox.setFaults([])
            try await pipeline.wait(
                for: 119,
                "SELECT count(*) FROM deliveries WHERE state = 'delivered' AND attempts = 1"
            )
            #expect(
                try await pipeline.servers.count("SELECT count(*) FROM push_subscriptions WHERE revoked_at IS NULL")
                    == 120
            )
            try await pipeline.wait(for: 0, "SELECT count(*) FROM breakers")
        }
    }

    @Test("devices are restored even if the key is corrected an hour later, whatever reason the breaker has then")
    func mendedLate() async throws {
        try await ProviderPeer.run { peer in
            let users = (0..<120).map { "u\($0)" }
            try await peer.register(users.map { ($0, "t-\($0)") })
            peer.sandbox.setFaults([Self.refusal(404, "UNREGISTERED")])
            try await peer.publish(["e1"], to: users)
            let pipeline = peer.pipeline
            try await pipeline.wait(
                for: 1,
                "SELECT count(*) FROM breakers WHERE reason = 'mass-death' AND failures >= 1"
            )
            // The state an hour later, with devices that the detection of the mass failure could not restore.
            for change in [
                "UPDATE breakers SET deaths_since = now() - interval '70 min', reason = 'certificate'",
                """
                UPDATE push_subscriptions SET revoked_at = now() - interval '61 min', revoke_reason = 'UNREGISTERED'
                WHERE profile_id IN ('u1', 'u2', 'u3')
                """,
            ] { _ = try await pipeline.servers.owner.run(Statement(change)) }
            peer.sandbox.setFaults([])
            try await pipeline.wait(for: 120, "SELECT count(*) FROM push_subscriptions WHERE revoked_at IS NULL")
        }
    }

    @Test("no device is revoked if many users' devices are reported as another sender's, and all is delivered later")
    func foreignToAll() async throws {
        try await ProviderPeer.run { peer in
            let users = (0..<6).map { "u\($0)" }
            try await peer.register(users.map { ($0, "t-\($0)") })
            peer.sandbox.setFaults([Self.refusal(403, "SENDER_ID_MISMATCH").limited(count: users.count)])
            try await peer.publish(["e1"], to: users)
            let pipeline = peer.pipeline
            try await pipeline.wait(
                for: 6,
                "SELECT count(*) FROM deliveries WHERE state = 'delivered' AND attempts = 1"
            )
            let opening = #"bellhop_breaker_openings_total{app="drop",provider="fcm",reason="SENDER_ID_MISMATCH"} 1"#
            try await eventually("it is counted") { pipeline.metrics.text().contains(opening) }
            #expect(
                try await pipeline.servers.count("SELECT count(*) FROM push_subscriptions WHERE revoked_at IS NOT NULL")
                    == 0
            )
            try await pipeline.wait(for: 0, "SELECT count(*) FROM breakers")
        }
    }

    @Test("one user with many devices of another sender loses only those, and delays no other user")
    func oneHostilePerson() async throws {
        try await ProviderPeer.run { peer in
            try await peer.register((0..<15).map { ("mallory", "foreign-\($0)") } + [("u1", "t1")])
            peer.sandbox.setFaults([Self.refusal(403, "SENDER_ID_MISMATCH", match: "foreign-")])
            try await peer.publish(["e1"], to: ["mallory"])
            let pipeline = peer.pipeline
            try await pipeline.wait(for: 15, "SELECT count(*) FROM push_subscriptions WHERE revoked_at IS NOT NULL")
            #expect(try await pipeline.servers.count("SELECT count(*) FROM breakers") == 0)
            try await peer.publish(["e2"], to: ["u1"])
            try await pipeline.wait(for: 1, "SELECT count(*) FROM deliveries WHERE state = 'delivered'")
        }
    }

    @Test("gone devices are revoked after a mass failure, once the provider has accepted a push")
    func realDeaths() async throws {
        try await ProviderPeer.run { peer in
            let users = (0..<80).map { "u\($0)" }
            try await peer.register(users.map { ($0, "dead-\($0)") } + [("alive", "t1")])
            peer.sandbox.setFaults([Self.refusal(404, "UNREGISTERED", match: "dead-")])
            try await peer.publish(["e1"], to: users)
            let pipeline = peer.pipeline
            try await pipeline.wait(for: 1, "SELECT count(*) FROM breakers WHERE reason = 'mass-death'")
            // A push to the remaining device proves it, sooner or later.
            let states = "SELECT count(*) FROM deliveries WHERE state = 'failed' AND reason = 'UNREGISTERED'"
            var round = 0
            try await eventually("the dead rest") {
                if try await pipeline.servers.count(states) >= 80 { return true }
                try await peer.publish(["sign-\(round)"], to: ["alive"])
                round += 1
                return false
            }
            try await pipeline.wait(for: 80, "SELECT count(*) FROM push_subscriptions WHERE revoked_at IS NOT NULL")
            try await pipeline.wait(for: 0, "SELECT count(*) FROM breakers")
        }
    }

    @Test("a provider that asks for a wait gets it, and deliveries in that time wait and use no attempt")
    func silence() async throws {
        try await ProviderPeer.run { peer in
            try await peer.register([("u1", "t1"), ("u2", "t2")])
            let quota = SandboxFault.Answer(status: 429, reason: "QUOTA_EXCEEDED", retryAfter: "10")
            peer.sandbox.setFaults([SandboxFault(.fcm, .answer(quota)).limited(count: 1)])
            try await peer.publish(["e1"], to: ["u1"])
            let pipeline = peer.pipeline
            try await pipeline.wait(for: 1, "SELECT count(*) FROM deliveries WHERE reason = 'QUOTA_EXCEEDED'")
            try await peer.publish(["e2"], to: ["u2"])
            try await pipeline.wait(
                for: 1,
                "SELECT count(*) FROM deliveries WHERE reason = 'provider-rests' AND attempts = 0"
            )
            try await peer.waitUntilSettled(2)
            #expect(peer.sandbox.received(.fcm).count == 3)
            #expect(try await peer.ledger() == ["u1|delivered|2", "u2|delivered|1"])
        }
    }
}
