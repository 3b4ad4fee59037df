import TestSupport
import Testing

@testable import AMQP

@Suite(
    "A consumer's private queue",
    .limitedConcurrency,
    .enabled(if: Broker.isThere, Comment(rawValue: Broker.absence)),
    .timeLimit(.ofTest)
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

    @Test("messages for its key arrive with the others, also after a lost connection; the queue ends with it")
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

    @Test("a consumer whose private queue is refused consumes from its other queues")
    func refused() async throws {
        try await Broker.withQueue { queue in
            let exchange = Servers.uniqueName("no_such_exchange")
            let consumer = consumer(queue, own: Servers.uniqueName("own_key"), exchange, at: try Broker.address)
            consumer.start()
            try await eventually("it consumes") { consumer.isConsuming }
            #expect(consumer.ownQueueRefusal?.contains("404") == true)
            try await Broker.publish(Broker.messages(3, to: queue))
            let taken = try await consumer.collect(3)
            #expect(taken.count == 3)
            #expect(consumer.isConsuming)
            await consumer.close()
        }
    }

    @Test(
        "a missing right is reported once and closes no channel; when granted, the queue comes with a new connection",
        .enabled(if: PrivateBroker.isPossible, Comment(rawValue: PrivateBroker.absence)),
        arguments: ["configure", "write", "read"]
    )
    func partlyGranted(missing right: String) async throws {
        let broker = try await PrivateBroker.shared()
        let (queue, user) = (Servers.uniqueName("own_lane"), Servers.uniqueName("own_user"))
        let (key, exchange) = ("\(queue).canary", "\(queue).work")
        let owner = try BrokerAddress(validating: "amqp://127.0.0.1:\(broker.port)")
        try await BrokerSession.with(owner, name: "test") { session in
            try session.declareQueue(queue, arguments: ["x-queue-type": "quorum"])
            try session.declareExchange(exchange, kind: "direct")
        }
        let lane = "^\(queue)(\\.work)?$"
        let all = "^\(queue)(\\..*)?$"
        try await broker.admit(
            user,
            configure: right == "configure" ? "^$" : all,
            write: right == "write" ? "^$" : all,
            read: right == "read" ? lane : all
        )
        let proxy = try TCPProxy(to: "127.0.0.1", broker.port)
        defer { proxy.stop() }
        let log = EventLog()
        let consumer = Consumer(
            .init(
                broker: try BrokerAddress(validating: "amqp://\(user):secret@127.0.0.1:\(proxy.port)"),
                name: "test-own",
                subscriptions: [
                    .init(queue: queue, prefetch: 100), .init(ownQueueFor: key, boundTo: exchange, prefetch: 4),
                ],
                observer: log.observer
            )
        )
        consumer.start()
        try await eventually("it is refused") { consumer.ownQueueRefusal?.contains("ACCESS_REFUSED") == true }
        #expect(consumer.isConsuming)
        let isTold = { (event: ConnectionEvent) in
            if case .subscriptionFailed(key, let error, _) = event { error.code == .accessRefused } else { false }
        }
        let isChannelLost = { (event: ConnectionEvent) in
            if case .channelClosed = event { true } else { false }
        }
        try await eventually("it is told") { log.count(where: isTold) == 1 }
        #expect(log.count(where: isChannelLost) == 0)
        try await broker.admit(user, configure: all, write: all, read: all)
        proxy.cutAll()
        try await eventually("it has one") { consumer.isConsuming && consumer.ownQueueRefusal == nil }
        #expect(log.count(where: isTold) == 1)
        await consumer.close()
        try await BrokerSession.with(owner, name: "test") { session in
            try session.deleteQueue(queue)
            try session.deleteExchange(exchange)
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
