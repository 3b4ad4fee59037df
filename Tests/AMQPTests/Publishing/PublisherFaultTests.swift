import TestSupport
import Testing

@testable import AMQP

@Suite(
    "Publishing through faults",
    .limitedConcurrency,
    .enabled(if: Broker.isThere, Comment(rawValue: Broker.absence)),
    .timeLimit(.ofTest)
)
struct PublisherFaultTests {
    private func publisher(
        _ address: BrokerAddress,
        _ log: EventLog,
        window: Int = 1000,
        timeout: Duration = LongestWait.duration
    ) -> Publisher {
        let publisher = Publisher(
            .init(
                broker: address,
                name: "test-faults",
                window: window,
                timeout: timeout,
                chance: { 0.5 },
                observer: log.observer
            )
        )
        publisher.start()
        return publisher
    }

    private func marked(_ marker: String, to queue: String) -> OutgoingMessage {
        OutgoingMessage(exchange: "", routingKey: queue, body: Array(marker.utf8))
    }

    private func drain(_ queue: String) async throws -> [[UInt8]] {
        try await Broker.session { session in
            var bodies: [[UInt8]] = []
            while let message = try session.get(queue) {
                bodies.append(message.body)
                try session.acknowledge(message.tag)
            }
            return bodies
        }
    }

    @Test("a lost confirm gives an unknown outcome, and the stored message is not sent again")
    func lostReply() async throws {
        try await Broker.withQueue { queue in
            let proxy = try Broker.proxy()
            let log = EventLog()
            let publisher = publisher(try Broker.address(behind: proxy), log)
            #expect(await publisher.publish([marked("before", to: queue)]) == [.confirmed])
            proxy.loseReply(whenClientSends: Array("the-lost-one".utf8))
            guard case .unknown(let reason)? = await publisher.publish([marked("the-lost-one", to: queue)]).first else {
                throw Unexpected("expected an unknown outcome")
            }
            #expect(reason.contains("lost"))
            #expect(await publisher.publish([marked("after", to: queue)]) == [.confirmed])
            await publisher.close()
            #expect(try await drain(queue) == ["before", "the-lost-one", "after"].map { Array($0.utf8) })
            proxy.stop()
        }
    }

    @Test("a message lost in transit has an unknown outcome")
    func lostRequest() async throws {
        try await Broker.withQueue { queue in
            let proxy = try Broker.proxy()
            let log = EventLog()
            let publisher = publisher(try Broker.address(behind: proxy), log)
            proxy.loseRequest(whenClientSends: Array("the-lost-one".utf8))
            guard case .unknown? = await publisher.publish([marked("the-lost-one", to: queue)]).first else {
                throw Unexpected("expected an unknown outcome")
            }
            #expect(await publisher.publish([marked("after", to: queue)]) == [.confirmed])
            await publisher.close()
            #expect(try await drain(queue) == [Array("after".utf8)])
            proxy.stop()
        }
    }

    @Test(
        "after a lost connection, the rest of an ordered call is not sent, and that of another call is",
        arguments: [true, false]
    )
    func order(isOrdered: Bool) async throws {
        try await Broker.withQueue { queue in
            let proxy = try Broker.proxy()
            let log = EventLog()
            // The lost message is among the first hundred, so that the rest waits for the next connection.
            let publisher = publisher(try Broker.address(behind: proxy), log, window: 100)
            let names = (0..<1_000).map { $0 == 50 ? "the-lost-one" : "m\($0)" }
            let messages = names.map { marked($0, to: queue) }
            proxy.loseRequest(whenClientSends: Array("the-lost-one".utf8))
            let outcomes = isOrdered ? await publisher.publish(inOrder: messages) : await publisher.publish(messages)
            guard case .unknown = outcomes[50] else { throw Unexpected("expected an unknown outcome") }
            #expect(await publisher.publish([marked("after", to: queue)]) == [.confirmed])
            await publisher.close()
            let stored = try await drain(queue).map { String(decoding: $0, as: UTF8.self) }
            #expect(stored.last == "after")
            if isOrdered {
                guard case .notSent(let reason)? = outcomes.last else { throw Unexpected("\(outcomes.last as Any)") }
                #expect(reason.contains("earlier message"))
                #expect(stored.dropLast() == names.prefix(stored.count - 1))
            } else {
                #expect(outcomes.last == .confirmed)
            }
            proxy.stop()
        }
    }

    @Test("nothing follows a message of an ordered call that cannot be sent")
    func unsendable() async throws {
        try await Broker.withQueue { queue in
            let log = EventLog()
            let proxy = try Broker.proxy()
            let publisher = publisher(try Broker.address(behind: proxy), log)
            let large = OutgoingMessage(exchange: "", routingKey: queue, body: Array(repeating: 0, count: 64 << 20))
            let messages = [marked("first", to: queue), large, marked("last", to: queue)]
            let outcomes = await publisher.publish(inOrder: messages)
            #expect(outcomes.first == .confirmed)
            guard case .tooLarge = outcomes[1] else { throw Unexpected("\(outcomes[1])") }
            guard case .notSent = outcomes[2] else { throw Unexpected("\(outcomes[2])") }
            await publisher.close()
            #expect(try await drain(queue) == [Array("first".utf8)])
            proxy.stop()
        }
    }

    @Test("messages without a broker are reported as not sent, in time")
    func noBroker() async throws {
        let log = EventLog()
        let publisher = publisher(try BrokerAddress(validating: "amqp://127.0.0.1:1"), log, timeout: .milliseconds(500))
        let outcomes = await publisher.publish(Broker.messages(3, to: "x"))
        #expect(outcomes.count == 3)
        for outcome in outcomes {
            guard case .notSent(let reason) = outcome else { throw Unexpected("\(outcome)") }
            #expect(reason.contains("not connected"))
        }
        #expect(!publisher.isConnected)
        await publisher.close()
    }

    @Test("messages wait for a broker that returns within the time limit")
    func waiting() async throws {
        try await Broker.withQueue { queue in
            let proxy = try Broker.proxy()
            proxy.refuse(true)
            let log = EventLog()
            let publisher = publisher(try Broker.address(behind: proxy), log)
            async let outcomes = publisher.publish(Broker.messages(3, to: queue))
            try await eventually("it has failed twice") { log.losses >= 2 }
            proxy.refuse(false)
            #expect(await outcomes == [.confirmed, .confirmed, .confirmed])
            await publisher.close()
            proxy.stop()
        }
    }

    @Test("overdue confirms give unknown outcomes, and the vanished peer is given up")
    func vanishedPeer() async throws {
        try await Broker.withQueue { queue in
            let proxy = try Broker.proxy()
            let log = EventLog()
            let publisher = publisher(try Broker.address(behind: proxy, heartbeat: 2), log, timeout: .seconds(1))
            try await eventually("one is confirmed within a second") {
                await publisher.publish([marked("before", to: queue)]) == [.confirmed]
            }
            proxy.blackHole(true)
            guard case .unknown(let reason)? = await publisher.publish([marked("swallowed", to: queue)]).first else {
                throw Unexpected("expected an unknown outcome")
            }
            #expect(reason.contains("not confirmed within"))
            try await eventually("the silence is noticed") { log.losses > 0 }
            proxy.blackHole(false)
            try await eventually("it is back") { publisher.isConnected }
            try await eventually("another is confirmed within a second") {
                await publisher.publish([marked("after", to: queue)]) == [.confirmed]
            }
            await publisher.close()
            proxy.stop()
        }
    }

    @Test("confirmed messages are stored and unsent ones are not after cuts under load")
    func chaos() async throws {
        try await Broker.withQueue { queue in
            let proxy = try Broker.proxy()
            let log = EventLog()
            let publisher = publisher(try Broker.address(behind: proxy), log)
            var outcomes: [String: PublishOutcome] = [:]
            for round in 0..<10 {
                let names = (0..<200).map { "r\(round)-\($0)" }
                async let answers = publisher.publish(names.map { marked($0, to: queue) })
                if round % 2 == 1 { proxy.cutAll() }
                for (name, outcome) in zip(names, await answers) { outcomes[name] = outcome }
            }
            await publisher.close()
            var counts: [String: Int] = [:]
            for body in try await drain(queue) { counts[String(decoding: body, as: UTF8.self), default: 0] += 1 }
            #expect(counts.values.allSatisfy { $0 == 1 }, "nothing is sent twice")
            for (name, outcome) in outcomes {
                switch outcome {
                case .confirmed: #expect(counts[name] == 1)
                case .notSent: #expect(counts[name] == nil)
                case .unknown: break
                case .refused, .unroutable, .unwritable, .tooLarge: throw Unexpected("\(name): \(outcome)")
                }
            }
            proxy.stop()
        }
    }

    @Test("closing with a vanished peer ends in bounded time, with every call answered")
    func closing() async throws {
        try await Broker.withQueue { queue in
            let proxy = try Broker.proxy()
            let log = EventLog()
            let publisher = publisher(try Broker.address(behind: proxy, heartbeat: 10), log)
            #expect(await publisher.publish([marked("before", to: queue)]) == [.confirmed])
            proxy.blackHole(true)
            // Longer than all the heartbeats that are lost as well.
            let body = [UInt8](repeating: 7, count: 4_096)
            async let outcomes = publisher.publish([OutgoingMessage(exchange: "", routingKey: queue, body: body)])
            try await eventually("it has been sent") { proxy.swallowedBytes >= body.count }
            await publisher.close()
            guard case .unknown? = await outcomes.first else { throw Unexpected("expected an unknown outcome") }
            proxy.stop()
        }
    }
}
