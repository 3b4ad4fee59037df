import TestSupport
import Testing

@testable import AMQP

@Suite(
    "Publishing",
    .limitedConcurrency,
    .enabled(if: Broker.isThere, Comment(rawValue: Broker.absence)),
    .timeLimit(.ofTest)
)
struct PublisherTests {
    private func withPublisher(
        window: Int = 1000,
        bodyLimit: Int = 16 << 20,
        _ log: EventLog = EventLog(),
        _ body: (Publisher) async throws -> Void
    ) async throws {
        let publisher = Publisher(
            .init(
                broker: try Broker.address,
                name: "test-publisher",
                window: window,
                bodyLimit: bodyLimit,
                observer: log.observer
            )
        )
        publisher.start()
        try await body(publisher)
        await publisher.close()
    }

    @Test("every message is confirmed, in order, through a window smaller than the batch", arguments: [1, 7, 1000])
    func confirms(window: Int) async throws {
        try await Broker.withQueue { queue in
            try await withPublisher(window: window) { publisher in
                let messages = Broker.messages(300, to: queue)
                #expect(await publisher.publish(messages) == messages.map { _ in .confirmed })
                #expect(publisher.isConnected)
                #expect(!publisher.isBlocked)
            }
            let consumer = Consumer(
                .init(broker: try Broker.address, name: "test", subscriptions: [.init(queue: queue, prefetch: 500)])
            )
            consumer.start()
            let taken = try await consumer.collect(300)
            await consumer.close()
            #expect(taken.map(\.properties.messageID) == (0..<300).map { "m\($0)" })
            #expect(taken.allSatisfy { $0.properties.deliveryMode == .persistent })
        }
    }

    @Test("a caller with a short time limit gets unknown outcomes from a silent broker")
    func patience() async throws {
        try await Broker.withQueue { queue in
            let messages = Broker.messages(2, to: queue)
            let host = try #require(try Broker.address.hosts.first)
            let proxy = try TCPProxy(to: host.name, Int(host.port))
            proxy.blackHole(true)
            let silent = Publisher(
                .init(
                    broker: try BrokerAddress(validating: proxy.url(replacingHostOf: Broker.url)),
                    name: "test-publisher"
                )
            )
            silent.start()
            let outcomes = await silent.publish(messages, within: .milliseconds(20))
            proxy.stop()
            await silent.close()
            let areUnknown = outcomes.map { outcome in if case .unknown = outcome { true } else { false } }
            #expect(areUnknown == [true, true])
            try await withPublisher { publisher in
                let confirmed = await publisher.publish(messages, within: LongestWait.duration)
                #expect(confirmed == [.confirmed, .confirmed])
            }
        }
    }

    @Test("concurrent callers each get the outcomes of their messages")
    func concurrency() async throws {
        try await Broker.withQueue { queue in
            try await withPublisher(window: 50) { publisher in
                await withTaskGroup(of: [PublishOutcome].self) { group in
                    for caller in 0..<20 {
                        let target = caller % 4 == 0 ? "nowhere-" + queue : queue
                        group.addTask { await publisher.publish(Broker.messages(10, to: target)) }
                    }
                    var confirmed = 0
                    for await outcomes in group {
                        #expect(outcomes.count == 10)
                        if outcomes.allSatisfy({ $0 == .confirmed }) { confirmed += 1 }
                    }
                    #expect(confirmed == 15)
                }
            }
        }
    }

    @Test("only messages that no queue accepts are unroutable, including identical ones")
    func unroutable() async throws {
        try await Broker.withQueue { queue in
            try await withPublisher { publisher in
                let good = Broker.messages(10, to: queue)
                let lost = Broker.messages(10, to: "nowhere-" + queue, size: 200_000)
                let twins = Array(repeating: lost[0], count: 3)
                let mixed = zip(good, lost).flatMap { [$0, $1] } + twins
                let outcomes = await publisher.publish(mixed)
                for (message, outcome) in zip(mixed, outcomes) {
                    guard message.routingKey != queue else {
                        #expect(outcome == .confirmed)
                        continue
                    }
                    guard case .unroutable(let reason) = outcome else { throw Unexpected("\(outcome)") }
                    #expect(reason.contains("312"))
                }
            }
        }
    }

    @Test("a full queue refuses messages without an effect on other queues")
    func refused() async throws {
        let full: FieldTable = ["x-queue-type": "quorum", "x-max-length": 2, "x-overflow": "reject-publish"]
        try await Broker.withQueue(full) { queue in
            try await Broker.withQueue { roomy in
                try await withPublisher(window: 1) { publisher in
                    let outcomes = await publisher.publish(Broker.messages(20, to: queue))
                    #expect(outcomes.first == .confirmed)
                    #expect(outcomes.last == .refused)
                    #expect(await publisher.publish(Broker.messages(2, to: roomy)) == [.confirmed, .confirmed])
                }
            }
        }
    }

    @Test("a missing exchange closes the channel and is named, and the next message is confirmed")
    func absentExchange() async throws {
        try await Broker.withQueue { queue in
            let log = EventLog()
            try await withPublisher(log) { publisher in
                let absent = Servers.uniqueName("absent")
                let lost = OutgoingMessage(exchange: absent, routingKey: "x", body: [1])
                guard case .unroutable(let reason)? = await publisher.publish([lost]).first else {
                    throw Unexpected("an absent exchange took a message")
                }
                #expect(reason.contains("404") && reason.contains(absent))
                let good = Broker.messages(5, to: queue)
                let mixed = await publisher.publish(good + [lost] + good)
                #expect(mixed.allSatisfy { if case .unroutable = $0 { false } else { true } })
                #expect(mixed.contains { if case .unknown = $0 { true } else { false } })
                #expect(await publisher.publish(good) == good.map { _ in .confirmed })
                try await eventually("events have arrived") { log.connections >= 1 }
                #expect(log.connections == 1, "the connection stays")
            }
        }
    }

    @Test("a property that the broker rejects is reported with its reason")
    func badProperty() async throws {
        try await Broker.withQueue { queue in
            try await withPublisher { publisher in
                var properties = MessageProperties()
                properties.userID = "somebody-else"
                let forged = OutgoingMessage(exchange: "", routingKey: queue, properties: properties, body: [])
                guard case .unwritable(let reason)? = await publisher.publish([forged]).first else {
                    throw Unexpected("a forged user id was taken")
                }
                #expect(reason.contains("406"))
                #expect(await publisher.publish(Broker.messages(1, to: queue)) == [.confirmed])
            }
        }
    }

    @Test("a message that the protocol cannot carry is not sent, without an effect on the channel")
    func unwritable() async throws {
        try await Broker.withQueue { queue in
            let log = EventLog()
            try await withPublisher(bodyLimit: 1000, log) { publisher in
                let long = String(repeating: "k", count: 256)
                var messages = [
                    OutgoingMessage(exchange: "", routingKey: queue, body: Array(repeating: 0, count: 1001)),
                    OutgoingMessage(exchange: long, routingKey: queue, body: []),
                    OutgoingMessage(exchange: "", routingKey: long, body: []),
                ]
                for change in Self.unwritableProperties {
                    var properties = MessageProperties()
                    change(&properties)
                    messages.append(OutgoingMessage(exchange: "", routingKey: queue, properties: properties, body: []))
                }
                let outcomes = await publisher.publish(messages)
                guard case .tooLarge? = outcomes.first else { throw Unexpected("\(outcomes)") }
                for outcome in outcomes.dropFirst() {
                    guard case .unwritable = outcome else { throw Unexpected("\(outcome)") }
                }
                #expect(await publisher.publish(Broker.messages(1, to: queue, size: 1000)) == [.confirmed])
                #expect(log.count { if case .channelClosed = $0 { true } else { false } } == 0)
                try await eventually("events have arrived") { log.connections >= 1 }
                #expect(log.connections == 1)
            }
        }
    }

    private static let unwritableProperties: [@Sendable (inout MessageProperties) -> Void] = [
        { $0.messageID = String(repeating: "m", count: 256) },
        { $0.headers = FieldTable([.init(String(repeating: "h", count: 256), 1)]) },
        { $0.headers = ["big": .bytes(Array(repeating: 1, count: 131_072))] },
        { $0.expiration = "soon" },
        { $0.expiration = "" },
        { $0.expiration = "-1" },
        { $0.expiration = "99999999999" },
    ]

    @Test("headers that just fit one frame are sent")
    func bigHeaders() async throws {
        try await Broker.withQueue { queue in
            try await withPublisher { publisher in
                // Flags, delivery mode, the table's length, one name, one kind and one length surround the bytes.
                let room = 131_072 - 20 - 12 - 4 - 4 - 1 - 4
                var properties = MessageProperties()
                properties.headers = ["big": .bytes(Array(repeating: 7, count: room))]
                let message = OutgoingMessage(exchange: "", routingKey: queue, properties: properties, body: [1])
                #expect(await publisher.publish([message]) == [.confirmed])
                // After the first return, it has one more header and no longer fits the agreed frame.
                for _ in 0..<2 {
                    let found = try await Broker.session { try $0.get(queue) }
                    #expect(found?.properties.headers["big"] == properties.headers["big"])
                }
            }
        }
    }

    @Test("nothing is sent before the start and after the end")
    func life() async throws {
        let publisher = Publisher(.init(broker: try Broker.address, name: "test"))
        guard case .notSent? = await publisher.publish(Broker.messages(1, to: "x")).first else {
            throw Unexpected("sent before the start")
        }
        #expect(await publisher.publish([]).isEmpty)
        publisher.start()
        await publisher.close()
        guard case .notSent? = await publisher.publish(Broker.messages(1, to: "x")).first else {
            throw Unexpected("sent after the end")
        }
        await publisher.close()
        #expect(!publisher.isConnected)
    }
}
