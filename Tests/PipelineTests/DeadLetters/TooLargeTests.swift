import BellhopRules
import IntegrationSupport
import Store
import TestSupport
import Testing

@testable import AMQP
@testable import Pipeline

@Suite(
    "Messages that are too large to be published again",
    .limitedConcurrency,
    .enabled(
        if: Servers.amqpURL != nil && Servers.databaseURL != nil,
        "needs BELLHOP_AMQP_URL and BELLHOP_DATABASE_URL"
    ),
    .timeLimit(.ofTest)
)
struct TooLargeTests {
    /// RabbitMQ 4 rejects such a body by default.
    ///
    /// In that case its producer learns it, and no dead letter arises.
    @Test("two bodies of 17 MiB become two truncated dead letters, and the event behind them is pushed")
    func seventeen() async throws {
        // Blanks after a complete event: the truncated body alone would be a valid event.
        let event = Array(#"{"id":"big","to":{"user":"u1"},"title":"t","body":"b"}"#.utf8)
        let body = event + Array(repeating: UInt8(ascii: " "), count: 17 << 20)
        let leavesNothing: @Sendable (ServerFixture) async throws -> Void = { servers in
            let names = servers.names
            let waiting = try await BrokerSession.with(try servers.broker, name: "test") { session in
                try (Lane.allCases.map(names.lane) + [names.dead]).map { try session.checkQueue($0)?.messages }
            }
            #expect(waiting == [0, 0, 0, 0])
        }
        try await ProviderPeer.run(afterwards: leavesNothing) { peer in
            let (pipeline, servers) = (peer.pipeline, peer.pipeline.servers)
            try await peer.register([("u1", "t1")])
            let publisher = Publisher(
                PublisherOptions(broker: try servers.broker, name: "test, large", bodyLimit: 32 << 20)
            )
            publisher.start()
            var taken = 0
            for _ in 0..<2 {
                let message = OutgoingMessage(
                    exchange: servers.names.events,
                    routingKey: "drop.transaction_complete",
                    properties: MessageProperties(),
                    body: body
                )
                switch await publisher.publish([message]).first {
                case .confirmed: taken += 1
                case .tooLarge: break
                case let outcome: Issue.record("\(String(describing: outcome))")
                }
            }
            #expect(taken == 0 || taken == 2)
            try await peer.publish(["good"], to: ["u1"])
            try await pipeline.wait(for: 1, "SELECT count(*) FROM deliveries WHERE state = 'delivered'")
            try await pipeline.wait(for: taken, "SELECT count(*) FROM dead_letters WHERE reason = 'too-large'")
            let letters = try await servers.column(
                """
                SELECT concat_ws('|', error, octet_length(body), properties->'bodyCut'->>'bytes',
                                 properties->'bodyCut'->>'sha256')
                FROM dead_letters
                """
            )
            let cut = BodyTruncation(of: body)
            let words = "the body has \(body.count) bytes, the limit is 262144|262144|\(body.count)|\(cut.sha256)"
            #expect(letters == Array(repeating: words, count: taken))
            let notifications = try await servers.count("SELECT count(*) FROM notifications")
            #expect(notifications == 1)
            await publisher.close()
        }
    }

    @Test("a dead letter whose body the broker rejects is cut, then halved, and reports its original size")
    func cutLetter() throws {
        var chance = SystemRandomNumberGenerator()
        let body = Array(repeating: UInt8(ascii: "x"), count: 300_000)
        let message = IncomingMessage(
            Delivery(
                subscription: 0,
                number: 1,
                redelivered: false,
                message: AssembledMessage(exchange: "e", routingKey: "k", properties: .init(), body: body)
            ),
            queue: "q",
            epoch: 1
        )
        let cause = DeadLetterCause(.intake, reason: "too-large", error: "the body is too large")
        var letter = DeadLetter(.message(message, cause), to: "dead", at: .init(clamping: 0), using: &chance)
        let sizes = (0..<20).map { _ in
            letter.cut()
            return letter.message.body.count
        }
        #expect(sizes.prefix(3) == [262_144, 131_072, 65_536])
        #expect(sizes.last == 0, "something of it arrives in any case")
        let headers = letter.message.properties.headers
        let cut = TruncatedBody(bytes: body.count, sha256: BodyTruncation(of: body).sha256.description)
        #expect(headers.cutBody == cut)
        #expect(headers[DeadLetterHeaders.name(of: .reason)] == .string("too-large"))
    }

    @Test("a producer's forged headers of a truncated body are ignored")
    func forged() {
        var properties = MessageProperties()
        properties.headers = ["x-bellhop-body-cut": .boolean(true), "x-bellhop-body-bytes": 9]
        let json = AMQPJSON.object(properties)
        let origin = DeadLetterItem.Origin(exchange: "", routingKey: "", properties: json, headers: [], body: [])
        #expect(origin.cutBody == nil)
    }
}
