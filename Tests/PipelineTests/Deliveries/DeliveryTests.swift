import IntegrationSupport
import Sandbox
import TestSupport
import Testing

@Suite(
    "Deliveries",
    .limitedConcurrency,
    .enabled(
        if: Servers.amqpURL != nil && Servers.databaseURL != nil,
        "needs BELLHOP_AMQP_URL and BELLHOP_DATABASE_URL"
    ),
    .timeLimit(.ofTest)
)
struct DeliveryTests {
    @Test("each device gets each notification once, tagged by the notification, and the ledger stores the message id")
    func delivered() async throws {
        try await ProviderPeer.run { peer in
            try await peer.register([("u1", "t1"), ("u1", "t2"), ("u2", "t3")])
            try await peer.publish((0..<50).map { "e\($0)" }, to: ["u1", "u2"])
            try await peer.waitUntilSettled(150)
            let servers = peer.pipeline.servers
            #expect(
                try await servers.count("SELECT count(*) FROM deliveries WHERE state = 'delivered' AND attempts = 1")
                    == 150
            )
            let unnamed = try await servers.count("SELECT count(*) FROM deliveries WHERE provider_message_id IS NULL")
            #expect(unnamed == 0)
            let ids = Set(try await servers.column("SELECT id FROM notifications").compactMap { $0 })
            #expect(ids.count == 100)
            #expect(Set(peer.arrivals.keys) == ids)
            #expect(peer.sandbox.received(.fcm).count == 150)
            #expect(peer.sandbox.received(.fcm).allSatisfy { $0.refused == nil })
        }
    }

    @Test("a delivery is suppressed if the user or the type is muted, push is off, or permission or device is missing")
    func suppressed() async throws {
        try await ProviderPeer.run { peer in
            let pipeline = peer.pipeline
            try await peer.register([("muted", "t1"), ("type", "t2"), ("off", "t3")])
            try await pipeline.publish([
                pipeline.event(
                    #"{"userId":"denied","token":"t4","platform":"ios","provider":"fcm","permission":"denied"}"#,
                    key: "drop.subscription.upserted"
                ),
                pipeline.event(#"{"userId":"muted","preferences":{"enabled":false}}"#, key: "drop.recipient.upserted"),
                pipeline.event(
                    #"{"userId":"type","preferences":{"eventToggles":{"transaction_complete":false}}}"#,
                    key: "drop.recipient.upserted"
                ),
                pipeline.event(#"{"userId":"off","pushEnabled":false}"#, key: "drop.recipient.upserted"),
            ])
            try await pipeline.wait(for: 4, "SELECT count(*) FROM push_subscriptions")
            try await pipeline.wait(for: 3, "SELECT count(*) FROM recipients")
            let users = ["denied", "muted", "nobody", "off", "type"]
            try await peer.publish(["e1"], to: users)
            try await peer.publish(["e2"], to: ["late"], more: #","expiresAt":"2020-01-01T00:00:00Z""#)
            try await peer.waitUntilSettled(6)
            let ledger = try await peer.ledger()
            #expect(
                ledger == [
                    "denied|suppressed|no-permission|0", "late|expired|expired-before-sending|0",
                    "muted|suppressed|muted|0", "nobody|suppressed|no-device|0", "off|suppressed|push-disabled|0",
                    "type|suppressed|type-muted|0",
                ]
            )
            #expect(peer.sandbox.received(.fcm).isEmpty)
            #expect(try await pipeline.servers.count("SELECT count(*) FROM notifications") == 6)
        }
    }

    @Test("a gone device is revoked and affects no other device, and the notification stays in the app")
    func deadDevice() async throws {
        try await ProviderPeer.run { peer in
            try await peer.register([("u1", "dead-1"), ("u1", "alive")])
            try await peer.publish(["e1"], to: ["u1"])
            try await peer.waitUntilSettled(2)
            let ledger = try await peer.ledger()
            #expect(Set(ledger) == ["u1|failed|UNREGISTERED|1", "u1|delivered|1"])
            try await peer.pipeline.wait(
                for: 1,
                "SELECT count(*) FROM push_subscriptions WHERE revoke_reason = 'UNREGISTERED' AND device_token = 'dead-1'"
            )
            #expect(try await peer.pipeline.servers.count("SELECT count(*) FROM dead_letters") == 0)
        }
    }

    @Test("a delivery that the provider cannot accept now is retried under the same tag after the provider's wait")
    func retried() async throws {
        try await ProviderPeer.run { peer in
            try await peer.register([("u1", "t1")])
            peer.sandbox.setFaults([
                SandboxFault(.fcm, .answer(.init(status: 503))).limited(count: 1)
            ])
            try await peer.publish(["e1"], to: ["u1"])
            try await peer.waitUntilSettled(1)
            #expect(try await peer.ledger() == ["u1|delivered|2"])
            #expect(peer.arrivals.values.map { $0 } == [2])
        }
    }

    @Test("a delivery that is given up is one dead letter with the provider's last response")
    func exhausted() async throws {
        try await ProviderPeer.run { peer in
            try await peer.register([("u1", "t1")])
            peer.sandbox.setFaults([SandboxFault(.fcm, .answer(.init(status: 503)))])
            try await peer.publish(["e1"], to: ["u1"])
            try await peer.waitUntilSettled(1)
            #expect(try await peer.ledger() == ["u1|failed|attempts-exhausted|2"])
            try await peer.pipeline.wait(for: 1, "SELECT count(*) FROM dead_letters")
            let letter = try await peer.pipeline.servers.column(
                "SELECT concat_ws('|', stage, reason, provider, error, app, event_id, user_id, attempts) FROM dead_letters"
            )
            #expect(letter == ["dispatch|attempts-exhausted|fcm|fcm said UNAVAILABLE|drop|e1|u1|2"])
        }
    }

    @Test("a message that the provider rejects permanently is not retried")
    func refused() async throws {
        try await ProviderPeer.run { peer in
            try await peer.register([("u1", "t1")])
            peer.sandbox.setFaults([
                SandboxFault(.fcm, .answer(.init(status: 400, reason: "INVALID_ARGUMENT")))
            ])
            try await peer.publish(["e1"], to: ["u1"])
            try await peer.waitUntilSettled(1)
            #expect(try await peer.ledger() == ["u1|failed|payload-refused|1"])
            try await peer.pipeline.wait(
                for: 1,
                "SELECT count(*) FROM dead_letters WHERE reason = 'payload-refused'"
            )
        }
    }

    @Test("a repeat after a connection loss carries the same tag and is counted")
    func unknownOutcomes() async throws {
        try await ProviderPeer.run { peer in
            try await peer.register([("u1", "t1")])
            // Only one fault: it affects the other requests on its connection, too, and a second attempt is the last
            // here.
            peer.sandbox.setFaults([SandboxFault(.fcm, .drop).limited(count: 1)])
            try await peer.publish((0..<20).map { "e\($0)" }, to: ["u1"])
            try await peer.waitUntilSettled(20)
            #expect(
                try await peer.pipeline.servers.count(
                    "SELECT count(*) FROM deliveries WHERE state = 'delivered'"
                ) == 20
            )
            #expect(peer.arrivals.count == 20)
            let unknown = try await peer.unknownSends()
            #expect(peer.arrivals.allSatisfy { $0.value - 1 <= unknown[$0.key, default: 0] })
            #expect(unknown.values.reduce(0, +) >= 1)
            #expect(peer.repeatedSends == unknown.values.reduce(0, +))
        }
    }

    @Test("a duplicate of every event sends nothing twice")
    func duplicates() async throws {
        try await ProviderPeer.run { peer in
            try await peer.register([("u1", "t1")])
            let ids = (0..<100).map { "e\($0)" }
            try await peer.publish(ids + ids, to: ["u1"])
            try await peer.waitUntilSettled(100)
            try await peer.publish(ids, to: ["u1"])
            try await peer.pipeline.waitUntilIdle(events: 301)
            #expect(peer.arrivals.count == 100)
            #expect(peer.arrivals.values.allSatisfy { $0 == 1 })
        }
    }

    @Test("a notification that is read in the app while it waits for a retry is not pushed")
    func readMeanwhile() async throws {
        try await ProviderPeer.run { peer in
            try await peer.register([("u1", "t1")])
            peer.sandbox.setFaults([SandboxFault(.fcm, .answer(.init(status: 503))).limited(count: 1)])
            try await peer.publish(["e1"], to: ["u1"])
            try await peer.pipeline.wait(for: 1, "SELECT count(*) FROM deliveries WHERE state = 'retrying'")
            _ = try await peer.pipeline.servers.owner.run("UPDATE notifications SET read_at = now()")
            try await peer.waitUntilSettled(1)
            #expect(try await peer.ledger() == ["u1|suppressed|already-read|1"])
        }
    }
}
