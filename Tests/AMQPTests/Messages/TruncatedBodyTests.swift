import TestSupport
import Testing

@testable import AMQP

@Suite(
    "Bodies that are too large",
    .limitedConcurrency,
    .enabled(if: Broker.isThere, Comment(rawValue: Broker.absence)),
    .timeLimit(.ofTest)
)
struct TruncatedBodyTests {
    /// Returns bytes that do not repeat within a frame.
    private static func body(_ count: Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }
    }

    @Test("a body above the limit arrives as its beginning, size and digest, and other bodies arrive complete")
    func cut() async throws {
        try await Broker.withQueue { queue in
            let bodies = [Self.body(400_000), Self.body(700_000), Self.body(400_001), Self.body(10)]
            try await Broker.publish(bodies.map { OutgoingMessage(exchange: "", routingKey: queue, body: $0) })
            var options = ConsumerOptions(
                broker: try Broker.address,
                name: "test",
                subscriptions: [.init(queue: queue, prefetch: 10)]
            )
            options.wholeBody = 400_000
            let consumer = Consumer(options)
            consumer.start()
            let taken = try await consumer.collect(4)
            for (message, body) in zip(taken, bodies) {
                guard body.count > 400_000 else {
                    #expect(message.body == body)
                    #expect(message.cut == nil)
                    continue
                }
                let beginning = Array(body.prefix(BodyLimits.kept))
                #expect(message.body == beginning)
                #expect(message.cut == BodyTruncation(of: body))
            }
            await consumer.close()
        }
    }

    @Test("a batch has at most the requested bytes, unless a single message has more")
    func bytes() {
        var buffer = MessageBuffer()
        buffer.append(
            [300, 300, 300, 2000, 10].enumerated().map { number, size in
                let message = AssembledMessage(exchange: "", routingKey: "", properties: .init(), body: Self.body(size))
                let delivery = Delivery(
                    subscription: 0,
                    number: UInt64(number),
                    redelivered: false,
                    message: message
                )
                return IncomingMessage(delivery, queue: "q", epoch: 1)
            }
        )
        var batches: [[Int]] = []
        while !buffer.isEmpty { batches.append(buffer.take(2, bytes: 700).map(\.body.count)) }
        #expect(batches == [[300, 300], [300], [2000], [10]])
        #expect(buffer.bytes == 0)
    }

    @Test(
        "a body above the broker's limit is reported as too large, and the others only need a repeat",
        .enabled(if: PrivateBroker.isPossible, Comment(rawValue: PrivateBroker.absence))
    )
    func refusedBySize() async throws {
        let broker = try await PrivateBroker.shared()
        let address = try BrokerAddress(validating: "amqp://127.0.0.1:\(broker.port)")
        let queue = Servers.uniqueName("amqp_size")
        try await BrokerSession.with(address, name: "test") {
            try $0.declareQueue(queue, arguments: ["x-queue-type": "quorum"])
        }
        try await broker.setLargestBody(1 << 20)
        let log = EventLog()
        let publisher = Publisher(.init(broker: address, name: "test", observer: log.observer))
        publisher.start()
        let sizes = [100, 1 << 20, 2 << 20, 100]
        let messages = sizes.map { OutgoingMessage(exchange: "", routingKey: queue, body: Self.body($0)) }
        var left = Array(messages.enumerated())
        var refused: [Int] = []
        while !left.isEmpty {
            let outcomes = await publisher.publish(left.map(\.element))
            for (message, outcome) in zip(left, outcomes) {
                guard case .tooLarge(let why) = outcome else { continue }
                refused.append(message.offset)
                #expect(why.contains("size"))
            }
            left = zip(left, outcomes).filter { $1 != .confirmed }.map(\.0).filter { !refused.contains($0.offset) }
        }
        #expect(refused == [2])
        let closed = log.count { if case .channelClosed = $0 { true } else { false } }
        guard case .tooLarge? = await publisher.publish([messages[2]]).first else {
            throw Unexpected("the broker's limit was forgotten")
        }
        let closedAgain = log.count { if case .channelClosed = $0 { true } else { false } }
        #expect(closed == closedAgain, "the limit that the broker named is kept to")
        await publisher.close()
        try await broker.setLargestBody(128 << 20)
        try await BrokerSession.with(address, name: "test") { try $0.deleteQueue(queue) }
    }
}
