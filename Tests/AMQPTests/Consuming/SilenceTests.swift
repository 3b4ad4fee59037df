import TestSupport
import Testing

@testable import AMQP

@Suite(
    "Consuming after silence",
    .limitedConcurrency,
    .enabled(if: Broker.isThere, Comment(rawValue: Broker.absence)),
    .timeLimit(.ofTest)
)
struct SilenceTests {
    private func consumer(_ address: BrokerAddress, _ queue: String, _ log: EventLog) -> Consumer {
        var options = ConsumerOptions(
            broker: address,
            name: "test-silence",
            subscriptions: [.init(queue: queue, prefetch: 100)],
            observer: log.observer
        )
        options.silence = .milliseconds(300)
        let consumer = Consumer(options)
        consumer.start()
        return consumer
    }

    @Test("a delivery that was lost on the connection arrives after a silence")
    func lostDelivery() async throws {
        try await Broker.withQueue { queue in
            let proxy = try Broker.proxy()
            let log = EventLog()
            let consumer = consumer(try Broker.address(behind: proxy), queue, log)
            try await eventually("it consumes") { consumer.isConsuming }
            proxy.loseAnswer(whenServerSends: Array("the-lost-one".utf8))
            try await Broker.publish([
                OutgoingMessage(exchange: "", routingKey: queue, body: Array("the-lost-one".utf8))
            ])
            try await eventually("the delivery is lost") { proxy.swallowedBytes > 0 }
            let taken = try await consumer.collect(1)
            #expect(taken.map(\.body) == [Array("the-lost-one".utf8)])
            // If the answer to a renewal was lost with it, the connection ends, which returns the delivery as well.
            #expect(taken.allSatisfy { $0.redelivered })
            await consumer.close()
            proxy.stop()
        }
    }

    @Test("renewals lose and duplicate nothing, and the consumer stays ready")
    func renewals() async throws {
        try await Broker.withQueue { queue in
            let log = EventLog()
            let consumer = consumer(try Broker.address, queue, log)
            try await eventually("it consumes") { consumer.isConsuming }
            var bodies: [[UInt8]] = []
            for round in 0..<5 {
                try await eventually("renewal \(round)") {
                    #expect(consumer.isConsuming)
                    return log.renewals > round
                }
                try await Broker.publish(Broker.messages(3, to: queue).map { Self.numbered($0, round) })
                bodies += try await consumer.collect(3).map(\.body)
            }
            #expect(Set(bodies).count == 15)
            #expect(log.connections == 1 && log.losses == 0)
            await consumer.close()
            #expect(try await Broker.session { try $0.get(queue) == nil })
        }
    }

    @Test("nothing is renewed while a message is unsettled")
    func held() async throws {
        try await Broker.withQueue { queue in
            try await Broker.withQueue { other in
                let (log, clock) = (EventLog(), EventLog())
                try await Broker.publish(Broker.messages(1, to: queue))
                let holder = consumer(try Broker.address, queue, log)
                let idle = consumer(try Broker.address, other, clock)
                let held = try await holder.collect(1, settling: false)
                let before = log.renewals
                let start = clock.renewals
                try await eventually("another one is renewed meanwhile") { clock.renewals >= start + 3 }
                #expect(log.renewals == before)
                holder.acknowledge(held.map(\.tag))
                try await eventually("it is renewed") { log.renewals > before }
                await holder.close()
                await idle.close()
                #expect(try await Broker.session { try $0.get(queue) == nil })
            }
        }
    }

    private static func numbered(_ message: OutgoingMessage, _ round: Int) -> OutgoingMessage {
        OutgoingMessage(
            exchange: message.exchange,
            routingKey: message.routingKey,
            properties: message.properties,
            body: Array("\(round)-\(message.properties.messageID ?? "")".utf8)
        )
    }
}

extension EventLog {
    fileprivate var renewals: Int {
        count { if case .renewed = $0 { true } else { false } }
    }
}
