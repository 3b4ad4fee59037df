package import AMQP
import BellhopRules
package import ServiceRuntime
package import Store

/// Reads the broker's dead-letter queue without the database, for use while the database is unavailable.
///
/// Messages that were read and not settled return to the queue when the scan ends; the queue's delivery limit is out of
/// reach. A filer has no consumer while the database is unavailable, so the scan is the only consumer.
package struct DeadLetterScan: Sendable {
    private let broker: BrokerAddress
    private let names: TopologyNames
    private let bounds: Bounds
    private let time: any TimeSource

    /// The limits of time and memory.
    package struct Bounds: Sendable {
        /// The wait for the next message, after which the scan queries the queue's length.
        package var silence = Duration.seconds(1)
        /// The number of consecutive waits without a message, after which it leaves messages that the broker has and
        /// does not deliver.
        package var silences = 30
        /// The maximum of unsettled messages per consumer, which is AMQP's limit.
        package var held = Int(UInt16.max)
        /// The maximum of consumers, which together hold more messages; each needs a connection and some megabytes.
        package var consumers = 16

        package init() {}
    }

    /// The extent of a scan.
    package enum Reach: Sendable, Equatable {
        /// The broker has no such queue.
        case noQueue
        case everything
        /// This number of dead letters was not reached.
        case part(left: Int)
    }

    package init(
        broker: BrokerAddress,
        names: TopologyNames,
        bounds: Bounds = Bounds(),
        time: any TimeSource = SystemTime()
    ) {
        self.broker = broker
        self.names = names
        self.bounds = bounds
        self.time = time
    }

    /// Calls `body` with the items in the queue, in batches.
    ///
    /// Items whose positions it returns leave the queue.
    ///
    /// Items that stay are held until the end, so that they are not delivered again. When a consumer holds its maximum,
    /// another one joins. It throws an error if the broker is unavailable.
    package func run(_ body: ([DeadLetterItem]) async throws -> Set<Int>) async throws -> Reach {
        guard try await count() != nil else { return .noQueue }
        var consumers: [Consumer] = []
        let result: Result<Reach, any Error>
        do {
            var left = 0
            var isFull = true
            while isFull, consumers.count < bounds.consumers {
                let consumer = makeConsumer()
                consumers.append(consumer)
                consumer.start()
                let held: Int
                (held, left) = try await goThrough(consumer, body)
                isFull = held >= bounds.held && left > 0
            }
            result = .success(left > 0 ? .part(left: left) : .everything)
        } catch {
            result = .failure(error)
        }
        for consumer in consumers { await consumer.close() }
        return try result.get()
    }

    /// Returns the number of a consumer's dead letters that stay, and the number that it did not receive.
    private func goThrough(
        _ consumer: Consumer,
        _ body: ([DeadLetterItem]) async throws -> Set<Int>
    ) async throws -> (held: Int, left: Int) {
        var held = 0
        var silences = 0
        var formerlyLeft: Int?
        var first: DeliveryTag?
        while true {
            guard let batch = await next(consumer) else {
                // A wait without a message proves nothing, because a busy broker may take longer. If the queue is
                // empty, its last messages may still be in flight.
                let left = try await count() ?? 0
                let isOver = left == 0 ? left == formerlyLeft : held >= bounds.held || silences >= bounds.silences
                guard !isOver else { return (held, left) }
                formerlyLeft = left
                silences += 1
                continue
            }
            (silences, formerlyLeft) = (0, nil)
            first = first ?? batch.first?.tag
            if let first, !batch.allSatisfy({ $0.tag.isOfSameConnection(as: first) }) { throw interrupted() }
            let now = time.timestamp
            let items = batch.map { letter in
                var item = DeadLetterParser.item(of: letter, at: now, names: names)
                item.cause = item.namedCause
                return item
            }
            let done = try await body(items)
            consumer.acknowledge(done.sorted().map { batch[$0].tag })
            held += batch.count - done.count
        }
    }

    /// Returns the error for a lost connection, after which the queue delivers the same messages again.
    private func interrupted() -> CommandFailure {
        CommandFailure(
            .tryAgain,
            attempted: "going through \(names.dead)",
            cameBack: "the connection to the broker was lost halfway",
            whatToDo: "try again, once the broker stays"
        )
    }

    private func makeConsumer() -> Consumer {
        Consumer(
            ConsumerOptions(
                broker: broker,
                name: "bellhop dead-letters",
                subscriptions: [.init(queue: names.dead, prefetch: bounds.held)]
            )
        )
    }

    /// Returns the number of dead letters that no consumer holds; `nil` if the queue does not exist.
    private func count() async throws -> Int? {
        let queue = names.dead
        return try await BrokerSession.with(broker, name: "bellhop dead-letters") { session in
            try session.checkQueue(queue)?.messages
        }
    }

    /// Publishes rejected messages to the replay queue, and returns which of them the broker has confirmed.
    ///
    /// Messages with a cut body must not be among them.
    package static func republish(
        _ items: [DeadLetterItem],
        by operator: ActingOperator,
        names: TopologyNames,
        through publisher: any MessagePublisher
    ) async -> [Bool] {
        let messages = items.map { item in
            let mark = DeadLetterItem.ReplayMark(
                item: item.replay?.item ?? item.deadID,
                replay: nil,
                round: (item.replay?.round ?? 0) + 1
            )
            var replayed = ReplayHeaders(mark, by: `operator`.name, origin: item.origin, arrivedAt: item.failedAt)
            replayed.because = `operator`.because.isEmpty ? nil : String(`operator`.because.prefix(1_000))
            return OutgoingMessage(replaying: item.origin, replayed, names: names)
        }
        return await publisher.publish(messages).map { $0 == .confirmed }
    }

    /// Returns the messages that arrive within the wait; `nil` if there are none.
    private func next(_ consumer: Consumer) async -> [IncomingMessage]? {
        await withTaskGroup(of: [IncomingMessage]?.self) { group in
            group.addTask { await consumer.next(atMost: Self.batch, bytes: DeadLetterStore.pageBytes) }
            group.addTask { [bounds, time] in
                try? await time.sleep(for: bounds.silence)
                return nil
            }
            let first = await group.next() ?? nil
            group.cancelAll()
            // A batch that arrives at the end of the wait must not be lost: it would be redelivered only in the next
            // scan.
            if let first { return first }
            return await group.next() ?? nil
        }
    }

    private static let batch = 200
}
