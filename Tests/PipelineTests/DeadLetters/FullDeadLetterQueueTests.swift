import AMQP
import IntegrationSupport
import Pipeline
import Sandbox
import TestSupport
import Testing

@Suite(
    "A dead-letter queue that accepts nothing",
    .limitedConcurrency,
    .enabled(
        if: Servers.amqpURL != nil && Servers.databaseURL != nil,
        "needs BELLHOP_AMQP_URL and BELLHOP_DATABASE_URL"
    ),
    .timeLimit(.ofTest)
)
struct FullDeadLetterQueueTests {
    @Test("rejected messages wait for room and delay neither the pushes in their batch nor later batches")
    func refusedMessages() async throws {
        try await ProviderPeer.run(onDeadLettersOf: 1) { peer in
            let (pipeline, servers) = (peer.pipeline, peer.pipeline.servers)
            try await peer.register((0..<5).map { ("u\($0)", "t\($0)") })
            try await servers.fillDeadLetters()
            // More such batches than may be stored at a time.
            for round in 0..<5 {
                let good = (0..<5).map { user in
                    pipeline.event(
                        #"{"id":"e\#(round)-\#(user)","to":{"user":"u\#(user)"},"title":"Hei","body":""}"#,
                        key: "drop.transaction_complete"
                    )
                }
                let bad = pipeline.event("bad \(round)", key: "drop.transaction_complete")
                try await pipeline.publish(good.prefix(2) + [bad] + good.suffix(3))
                try await pipeline.wait(
                    for: (round + 1) * 5,
                    "SELECT count(*) FROM deliveries WHERE state = 'delivered'"
                )
            }
            #expect(peer.sandbox.received(.fcm).count == 25)
            let letters = try await servers.takeDeadLetters(5)
            let bodies = Set(letters.map { String(decoding: $0.body, as: UTF8.self) })
            let bad = Set((0..<5).map { "bad \($0)" })
            #expect(bodies == bad)
        }
    }

    @Test("deliveries are settled while another one's dead letter waits, and that one fails afterwards")
    func givenUpDelivery() async throws {
        try await ProviderPeer.run(onDeadLettersOf: 1) { peer in
            let (pipeline, servers) = (peer.pipeline, peer.pipeline.servers)
            let users = (0..<30).map { "u\($0)" }
            try await peer.register(users.map { ($0, $0 == "u7" ? "refused" : "t-\($0)") })
            peer.sandbox.setFaults([
                SandboxFault(.fcm, .answer(.init(status: 400, reason: "INVALID_ARGUMENT")), match: "refused")
            ])
            try await servers.fillDeadLetters()
            try await peer.publish(["e1"], to: users)
            try await pipeline.wait(for: 29, "SELECT count(*) FROM deliveries WHERE state = 'delivered'")
            let open = try await servers.column("SELECT user_id FROM deliveries WHERE state <> 'delivered'")
            #expect(open == ["u7"])
            let letters = try await servers.takeDeadLetters(1)
            #expect(letters.first?.routingKey == "delivery")
            try await pipeline.wait(for: 1, "SELECT count(*) FROM deliveries WHERE state = 'failed' AND user_id = 'u7'")
        }
    }
}

extension ServerFixture {
    /// Replaces the dead-letter queue by one that rejects messages beyond `room`.
    func narrowDeadLetters(to room: Int) async throws {
        let names = self.names
        try await BrokerSession.with(try broker, name: "test, narrowing") { session in
            try session.deleteQueue(names.dead)
            let arguments: FieldTable = [
                "x-queue-type": "quorum", "x-max-length": .int64(Int64(room)), "x-overflow": "reject-publish",
            ]
            try session.declareQueue(names.dead, arguments: arguments)
            try session.bind(names.dead, to: names.dead, key: "")
        }
    }

    /// Publishes to the dead-letter queue until it rejects a message.
    func fillDeadLetters() async throws {
        let publisher = Publisher(PublisherOptions(broker: try broker, name: "test, filling"))
        publisher.start()
        let filler = OutgoingMessage(exchange: "", routingKey: names.dead, body: Array("filler".utf8))
        var outcome = PublishOutcome.confirmed
        while outcome == .confirmed { outcome = await publisher.publish([filler]).first ?? .confirmed }
        await publisher.close()
        guard outcome == .refused else { throw ServerFixtureError("the queue does not refuse: \(outcome)") }
    }

    /// Takes dead letters off the queue until `count` have arrived; fillers do not count.
    func takeDeadLetters(_ count: Int) async throws -> [IncomingMessage] {
        let consumer = Consumer(
            ConsumerOptions(
                broker: try broker,
                name: "test, making room",
                subscriptions: [.init(queue: names.dead, prefetch: 10)]
            )
        )
        consumer.start()
        var letters: [IncomingMessage] = []
        while letters.count < count, let batch = await consumer.next(atMost: 10) {
            consumer.acknowledge(batch.map(\.tag))
            letters += batch.filter { $0.exchange == names.dead }
        }
        await consumer.close()
        return letters
    }
}
