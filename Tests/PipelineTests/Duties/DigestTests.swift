import IntegrationSupport
import Sandbox
import TestSupport
import Testing

@Suite(
    "Digests",
    .limitedConcurrency,
    .enabled(
        if: Servers.amqpURL != nil && Servers.databaseURL != nil,
        "needs BELLHOP_AMQP_URL and BELLHOP_DATABASE_URL"
    ),
    .timeLimit(.ofTest)
)
struct DigestTests {
    /// Registers users who want offers, with a device each; a catalogue's low priority is silent otherwise.
    private static func gather(_ peer: ProviderPeer, _ users: [String], events: Int) async throws {
        let pipeline = peer.pipeline
        try await peer.register(users.map { ($0, "token-\($0)") })
        try await pipeline.publish(
            users.map { user in
                pipeline.event(
                    #"{"userId":"\#(user)","preferences":{"eventToggles":{"promotional":true}}}"#,
                    key: "drop.recipient.upserted"
                )
            }
        )
        try await pipeline.wait(for: users.count, "SELECT count(*) FROM notification_preferences")
        let names = users.map { "\"\($0)\"" }.joined(separator: ",")
        for event in 0..<events {
            try await pipeline.publish([
                pipeline.event(
                    #"{"id":"e\#(event)","to":{"users":[\#(names)]},"title":"Tilbud \#(event)","body":"Bare i dag"}"#,
                    key: "drop.promotional"
                )
            ])
            try await pipeline.wait(for: (event + 1) * users.count, "SELECT count(*) FROM notifications")
        }
        try await pipeline.wait(
            for: events * users.count,
            "SELECT count(*) FROM deliveries WHERE state = 'deferred' AND reason = 'digest' AND due_at > now()"
        )
    }

    /// Makes every digest due.
    private static func strike(_ peer: ProviderPeer) async throws {
        _ = try await peer.pipeline.servers.owner.run(
            """
            UPDATE deliveries SET due_at = now(),
                decision = decision || jsonb_build_object('digest', to_char(now() AT TIME ZONE 'UTC' - interval '1 s',
                                                                            'YYYY-MM-DD"T"HH24:MI:SS"Z"'))
            WHERE state = 'deferred'
            """,
            []
        )
    }

    @Test("each user gets one push with the count and the newest notification, and the ledger marks all of them")
    func together() async throws {
        try await ProviderPeer.run { peer in
            try await Self.gather(peer, ["u1", "u2"], events: 4)
            _ = try await peer.pipeline.servers.owner.run(
                "UPDATE notifications SET read_at = now() WHERE user_id = 'u2' AND event_id = 'e3'",
                []
            )
            try await Self.strike(peer)
            try await peer.waitUntilSettled(8)
            let received = peer.sandbox.received(.fcm)
            #expect(received.count == 2)
            #expect(received.allSatisfy { $0.refused == nil })
            let words = received.compactMap { $0.body["message"]?["notification"] }
            let titles = Set(words.compactMap { $0["title"]?.string })
            #expect(titles == ["4 nye varsler", "3 nye varsler"])
            let bodies = words.compactMap { $0["body"]?.string }
            #expect(bodies.contains { $0.hasPrefix("Tilbud 3, Tilbud 2, Tilbud 1") })
            #expect(bodies.contains { $0.hasPrefix("Tilbud 2, Tilbud 1, Tilbud 0") })
            let states = try await peer.pipeline.servers.column(
                "SELECT concat_ws('|', state, reason, count(*)) FROM deliveries GROUP BY state, reason ORDER BY 1"
            )
            #expect(states == ["delivered|7", "suppressed|already-read|1"])
            for request in received {
                let data = try #require(request.body["message"]?["data"])
                #expect(data["type"] == "digest" && data["eventType"] == "digest" && data["digest"] == "true")
                #expect(data["count"] == (request.token == "token-u1" ? "4" : "3"))
                #expect(data["route"] == "/notifications" && data["link"] == "/notifications")
                #expect(request.body["message"]?["android"]?["priority"] == "NORMAL")
            }
        }
    }

    @Test("a digest that the provider cannot accept now is repeated as a whole, under the same tag")
    func repeated() async throws {
        try await ProviderPeer.run { peer in
            try await Self.gather(peer, ["u1"], events: 3)
            peer.sandbox.setFaults([SandboxFault(.fcm, .answer(.init(status: 503))).limited(count: 1)])
            try await Self.strike(peer)
            try await peer.waitUntilSettled(3)
            #expect(try await peer.ledger() == ["u1|delivered|2", "u1|delivered|2", "u1|delivered|2"])
            #expect(peer.arrivals.values.map { $0 } == [2])
        }
    }

    @Test("no digest is sent if the user has read all of its notifications before")
    func allRead() async throws {
        try await ProviderPeer.run { peer in
            try await Self.gather(peer, ["u1"], events: 2)
            _ = try await peer.pipeline.servers.owner.run("UPDATE notifications SET read_at = now()", [])
            try await Self.strike(peer)
            try await peer.waitUntilSettled(2)
            #expect(peer.sandbox.received(.fcm).isEmpty)
        }
    }
}
