import IntegrationSupport
import Pipeline
import Sandbox
import TestSupport
import Testing

@Suite(
    "Receipts",
    .limitedConcurrency,
    .enabled(
        if: Servers.amqpURL != nil && Servers.databaseURL != nil,
        "needs BELLHOP_AMQP_URL and BELLHOP_DATABASE_URL"
    ),
    .timeLimit(.ofTest)
)
struct ReceiptTests {
    /// Receipts are requested only by the test.
    private static let byHand = ReceiptPolicy()

    /// Returns the ledger as text, one line for each delivery.
    private static func ledger(_ peer: ProviderPeer) async throws -> [String?] {
        try await peer.pipeline.servers.column(
            "SELECT concat_ws('|', user_id, state, reason, attempts) FROM deliveries ORDER BY user_id"
        )
    }

    private static func makeDue(_ peer: ProviderPeer) async throws {
        _ = try await peer.pipeline.servers.owner.run("UPDATE deliveries SET due_at = now()", [])
    }

    private static func questions(_ peer: ProviderPeer) -> Int {
        peer.sandbox.received(.expo).count { $0.path.hasSuffix("getReceipts") }
    }

    private static func sends(_ peer: ProviderPeer) -> Int {
        peer.sandbox.received(.expo).count { $0.path.hasSuffix("send") }
    }

    @Test("an accepted push waits for 15 minutes with its ticket, and is delivered if Expo's receipt confirms it")
    func delivered() async throws {
        try await ProviderPeer.run(over: .expo, looks: Self.byHand) { peer in
            try await peer.register([("u1", "a"), ("u2", "b")])
            try await peer.publish(["e1"], to: ["u1", "u2"])
            try await peer.pipeline.wait(
                for: 2,
                """
                SELECT count(*) FROM deliveries WHERE state = 'accepted' AND attempts = 1
                AND due_at > now() + interval '14 min' AND due_at <= now() + interval '15 min'
                AND sent_at <= now() AND provider_message_id IS NOT NULL AND claim IS NULL
                """
            )
            #expect(Self.questions(peer) == 0)
            try await Self.makeDue(peer)
            try await peer.waitUntilAnswered(2)
            #expect(try await Self.ledger(peer) == ["u1|delivered|1", "u2|delivered|1"])
            let rest = try await peer.pipeline.servers.count(
                """
                SELECT count(*) FROM deliveries WHERE sent_at IS NULL AND due_at IS NULL AND claim IS NULL
                AND provider_message_id IS NOT NULL
                """
            )
            #expect(rest == 2)
            #expect(Self.sends(peer) == 2)
        }
    }

    @Test("a gone device is revoked, and one that was registered again since the send is not")
    func deviceGone() async throws {
        try await ProviderPeer.run(over: .expo, looks: Self.byHand) { peer in
            try await peer.register([("old", "gone-1"), ("renewed", "gone-2")])
            try await peer.publish(["e1"], to: ["old", "renewed"])
            try await peer.pipeline.wait(for: 2, "SELECT count(*) FROM deliveries WHERE state = 'accepted'")
            _ = try await peer.pipeline.servers.owner.run(
                "UPDATE push_subscriptions SET registered_at = now() WHERE profile_id = 'renewed'",
                []
            )
            try await Self.makeDue(peer)
            try await peer.waitUntilAnswered(2)
            #expect(
                try await Self.ledger(peer) == [
                    "old|failed|DeviceNotRegistered|1", "renewed|failed|DeviceNotRegistered|1",
                ]
            )
            try await peer.pipeline.wait(
                for: 1,
                "SELECT count(*) FROM push_subscriptions WHERE revoke_reason = 'DeviceNotRegistered'"
            )
            let revoked = try await peer.pipeline.servers.column(
                "SELECT profile_id FROM push_subscriptions WHERE revoked_at IS NOT NULL"
            )
            #expect(revoked == ["old"])
        }
    }

    @Test("a receipt with a temporary error leads to retries up to the limit, and then to a dead letter")
    func retried() async throws {
        try await ProviderPeer.run(over: .expo) { peer in
            try await peer.register([("u1", "provider-1")])
            try await peer.publish(["e1"], to: ["u1"])
            try await peer.waitUntilAnswered(1)
            #expect(try await Self.ledger(peer) == ["u1|failed|attempts-exhausted|2"])
            #expect(Self.sends(peer) == 2)
            try await peer.pipeline.wait(for: 1, "SELECT count(*) FROM dead_letters")
            let letter = try await peer.pipeline.servers.column(
                """
                SELECT concat_ws('|', stage, reason, error, provider, app, event_type, event_id, user_id, attempts)
                FROM dead_letters
                """
            )
            #expect(
                letter == [
                    "receipt|attempts-exhausted|expo said ProviderError|expo|drop|transaction_complete|e1|u1|2"
                ]
            )
        }
    }

    @Test("a rate limit defers, credentials that Expo lacks wait for a breaker, and a message that is too big fails")
    func held() async throws {
        try await ProviderPeer.run(over: .expo, looks: Self.byHand) { peer in
            peer.sandbox.setFaults([
                SandboxFault(
                    .expo,
                    .answer(.init(status: 500, reason: "MessageTooBig")),
                    match: "receipt ExponentPushToken[big]"
                )
            ])
            try await peer.register([("u1", "rate-1"), ("u2", "mismatch-1"), ("u3", "big")])
            try await peer.publish(["e1"], to: ["u1", "u2", "u3"])
            try await peer.pipeline.wait(for: 3, "SELECT count(*) FROM deliveries WHERE state = 'accepted'")
            try await Self.makeDue(peer)
            try await peer.pipeline.wait(
                for: 3,
                "SELECT count(*) FROM deliveries WHERE state IN ('deferred', 'failed')"
            )
            #expect(
                try await Self.ledger(peer) == [
                    "u1|deferred|MessageRateExceeded|1", "u2|deferred|breaker|1", "u3|failed|payload-refused|1",
                ]
            )
            let waiting = try await peer.pipeline.servers.count(
                "SELECT count(*) FROM deliveries WHERE due_at > now() + interval '30 s' AND sent_at IS NULL"
            )
            #expect(waiting == 2)
            try await peer.pipeline.wait(
                for: 1,
                "SELECT count(*) FROM dead_letters WHERE reason = 'payload-refused'"
            )
        }
    }

    @Test("a missing receipt is requested again, and after a day its delivery is unknown and not sent again")
    func missing() async throws {
        try await ProviderPeer.run(over: .expo) { peer in
            try await peer.register([("u1", "silent-1")])
            try await peer.publish(["e1"], to: ["u1"])
            try await eventually("the receipt is asked for three times") { Self.questions(peer) >= 3 }
            #expect(try await Self.ledger(peer) == ["u1|accepted|1"])
            _ = try await peer.pipeline.servers.owner.run(
                "UPDATE deliveries SET sent_at = now() - interval '24 hours', due_at = now()",
                []
            )
            try await peer.waitUntilAnswered(1)
            #expect(try await Self.ledger(peer) == ["u1|unknown|receipt-missing|1"])
            #expect(Self.sends(peer) == 1)
        }
    }

    @Test("accepted deliveries stay accepted while Expo is unavailable, and their receipts are requested afterwards")
    func unanswered() async throws {
        try await ProviderPeer.run(over: .expo) { peer in
            let away = SandboxFault(.expo, .answer(.init(status: 503)), match: "getReceipts").limited(count: 1)
            peer.sandbox.setFaults([away])
            try await peer.register([("u1", "a")])
            try await peer.publish(["e1"], to: ["u1"])
            try await eventually("the question fails") { Self.questions(peer) == 1 }
            try await peer.pipeline.wait(
                for: 1,
                "SELECT count(*) FROM deliveries WHERE state = 'accepted' AND due_at <= now() + interval '5 s'"
            )
            try await peer.waitUntilAnswered(1)
            #expect(try await Self.ledger(peer) == ["u1|delivered|1"])
            let text = peer.pipeline.metrics.text()
            #expect(text.contains(#"bellhop_receipts_total{app="drop",outcome="unanswered"} 1"#))
        }
    }

    @Test("a message on the receipts queue that is not an internal message becomes a dead letter")
    func stray() async throws {
        try await ProviderPeer.run(over: .expo) { peer in
            let names = peer.pipeline.servers.names
            try await peer.pipeline.publish(
                ["{", #"{"deliveries":[]}"#, #"{"deliveries":[["drop","u1","noti_x","push","s"]]}"#].map { body in
                    .init(exchange: names.work, routingKey: names.receipts, body: Array(body.utf8))
                }
            )
            try await peer.pipeline.wait(
                for: 3,
                "SELECT count(*) FROM dead_letters WHERE stage = 'receipt' AND reason = 'malformed-json'"
            )
        }
    }

    @Test("receipts of five hundred deliveries are requested in few calls, and each delivery is settled once")
    func many() async throws {
        try await ProviderPeer.run(over: .expo, looks: Self.byHand) { peer in
            let users = (0..<500).map { "u\($0)" }
            try await peer.register(users.map { ($0, $0) })
            try await peer.publish(["e1"], to: users)
            try await peer.pipeline.wait(for: 500, "SELECT count(*) FROM deliveries WHERE state = 'accepted'")
            try await Self.makeDue(peer)
            try await peer.waitUntilAnswered(500)
            #expect(Self.questions(peer) <= 4)
            // The metrics follow after the commit.
            try await eventually("the meters say so") {
                let text = peer.pipeline.metrics.text()
                return text.contains(#"bellhop_deliveries_total{app="drop",state="delivered"} 500"#)
                    && text.contains(#"bellhop_receipts_total{app="drop",outcome="delivered"} 500"#)
            }
        }
    }
}
