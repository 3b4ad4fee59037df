import TestSupport
import Testing

@testable import AMQP

@Suite(
    "A consumer's own queue",
    .inTurn,
    .enabled(if: Broker.isThere, Comment(rawValue: Broker.absence)),
    .timeLimit(.minutes(5))
)
struct OwnQueueTests {
    private func consumer(_ queue: String, own key: String, _ exchange: String, at address: BrokerAddress) -> Consumer {
        Consumer(
            .init(
                broker: address,
                name: "test-own",
                subscriptions: [
                    .init(queue: queue, prefetch: 100), .init(ownQueueFor: key, boundTo: exchange, prefetch: 4),
                ]
            )
        )
    }

    @Test("what is published under its key comes beside the rest, after a lost connection, too; the queue goes with it")
    func arrives() async throws {
        try await Broker.withQueue { queue in
            let (exchange, key) = (Servers.uniqueName("own_exchange"), Servers.uniqueName("own_key"))
            try await Broker.session { try $0.declareExchange(exchange, kind: "direct") }
            let proxy = try Broker.proxy()
            let consumer = consumer(queue, own: key, exchange, at: try Broker.address(behind: proxy))
            consumer.start()
            for round in 0..<2 {
                try await eventually("it consumes") { consumer.isConsuming }
                try await Broker.publish([
                    OutgoingMessage(exchange: exchange, routingKey: key, body: [UInt8(round)]),
                    OutgoingMessage(exchange: "", routingKey: queue, body: [9]),
                ])
                let taken = try await consumer.collect(2)
                let bodies = taken.sorted { $0.queue == key && $1.queue != key }.map(\.body)
                #expect(bodies == [[UInt8(round)], [9]])
                #expect(Set(taken.map(\.queue)) == [queue, key])
                proxy.cutAll()
                try await eventually("the loss is noticed") { !consumer.isConsuming || round == 1 }
            }
            await consumer.close()
            proxy.stop()
            try await eventually("the queue has gone") { try await isUnroutable(key, exchange) }
            try await Broker.session { try $0.deleteExchange(exchange) }
        }
    }

    @Test("a consumer that may not have one consumes all the same")
    func refused() async throws {
        try await Broker.withQueue { queue in
            let exchange = Servers.uniqueName("no_such_exchange")
            let consumer = consumer(queue, own: Servers.uniqueName("own_key"), exchange, at: try Broker.address)
            consumer.start()
            try await eventually("it consumes") { consumer.isConsuming }
            try await Broker.publish(Broker.messages(3, to: queue))
            let taken = try await consumer.collect(3)
            #expect(taken.count == 3)
            #expect(consumer.isConsuming)
            await consumer.close()
        }
    }

    private func isUnroutable(_ key: String, _ exchange: String) async throws -> Bool {
        let publisher = Publisher(.init(broker: try Broker.address, name: "test"))
        publisher.start()
        let outcomes = await publisher.publish([OutgoingMessage(exchange: exchange, routingKey: key, body: [])])
        await publisher.close()
        if case .unroutable? = outcomes.first { return true }
        return false
    }
}
