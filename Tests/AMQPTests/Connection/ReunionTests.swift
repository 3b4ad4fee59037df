import TestSupport
import Testing

@testable import AMQP

@Suite(
    "Reconnecting together",
    .limitedConcurrency,
    .enabled(if: Broker.isThere, Comment(rawValue: Broker.absence)),
    .timeLimit(.ofTest)
)
struct ReunionTests {
    @Test("a returning connection wakes a consumer and a publisher that pause for long")
    func called() async throws {
        try await Broker.withQueue { queue in
            let proxy = try Broker.proxy()
            let presence = BrokerAvailability()
            let log = EventLog()
            let resting = Consumer(
                ConsumerOptions(
                    broker: try Broker.address(behind: proxy, heartbeat: 20),
                    name: "test, resting",
                    subscriptions: [.init(queue: queue, prefetch: 1)],
                    presence: presence,
                    chance: { 0 },
                    observer: log.observer
                )
            )
            let publisher = Publisher(
                PublisherOptions(
                    broker: try Broker.address(behind: proxy, heartbeat: 20),
                    name: "test, resting",
                    presence: presence,
                    chance: { 0 }
                )
            )
            proxy.refuse(true)
            resting.start()
            publisher.start()
            let pause = Duration.milliseconds(12_800)
            try await eventually("it rests for long") { log.pauses.contains(pause) }
            let since = ContinuousClock.now
            proxy.refuse(false)
            let other = Consumer(
                ConsumerOptions(
                    broker: try Broker.address,
                    name: "test, back",
                    subscriptions: [.init(queue: queue, prefetch: 1)],
                    presence: presence
                )
            )
            other.start()
            try await eventually("all are back") { resting.isConsuming && publisher.isConnected }
            let took = since.duration(to: .now)
            #expect(log.pauses.last == pause, "it did not wait for a further attempt")
            #expect(took < pause, "the rest that it had announced was cut short")
            await resting.close()
            await other.close()
            await publisher.close()
            proxy.stop()
        }
    }

    @Test("a stopped consumer does not reconnect, so that its thread sleeps while taken messages are processed")
    func stopped() async throws {
        try await Broker.withQueue { queue in
            let address = try Broker.address
            try await onThread {
                let connection = try BrokerConnection(to: address, address.hosts[0], name: "test", .receiving)
                let options = ConsumerOptions(
                    broker: address,
                    name: "test",
                    subscriptions: [.init(queue: queue, prefetch: 1)]
                )
                var subscriptions = Subscriptions(options)
                try connection.openChannel(ConsumerSession.channel)
                let isThere = try subscriptions.subscribe(0, on: connection)
                try subscriptions.cancelAll(on: connection)
                let wait = subscriptions.untilNextAttempt
                let next = subscriptions.nextDue()
                #expect(isThere)
                #expect(wait >= .seconds(10))
                #expect(next == nil)
                connection.close(waiting: 1000)
            }
        }
    }
}

extension EventLog {
    /// The announced pauses, in order.
    fileprivate var pauses: [Duration] {
        all.compactMap { event in
            guard case .disconnected(_, let pause?) = event else { return nil }
            return pause
        }
    }
}
