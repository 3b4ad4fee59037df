package import AMQP
import BellhopRules
package import ServiceRuntime
package import Store

/// Goes through the broker's dead-letter queue without the database, for the night when that is what is broken.
///
/// What is looked at and not settled goes back to the queue when the scan ends; the queue's delivery limit is out of reach.
/// A clerk has no consumer while the database is away, so nobody else takes from the queue meanwhile.
package struct DeadLetterScan: Sendable {
    private let broker: BrokerAddress
    private let names: TopologyNames
    private let bounds: Bounds
    private let time: any TimeSource

    /// How long it waits, and how much it looks at.
    package struct Bounds: Sendable {
        /// The operator's program waits so long for the next message before it asks whether there is any.
        package var silence = Duration.seconds(1)
        /// Such silences in a row before it gives up what the broker has, and does not send.
        package var silences = 30
        /// What one consumer may hold without settling it: no more than AMQP can say.
        package var held = Int(UInt16.max)
        /// Consumers that hold what others cannot: a connection and some megabytes each.
        package var consumers = 16

        package init() {}
    }

    /// How far a scan has come.
    package enum Reach: Sendable, Equatable {
        /// The broker has no such queue.
        case noQueue
        case everything
        /// So many letters lie behind what was looked at.
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

    /// Calls `body` with the items that lie in the queue, in batches; those whose positions it returns leave the queue.
    ///
    /// What is looked at and stays is held until the end, so that it does not come round again; a consumer that holds as
    /// much as it may is joined by another. Throws where the broker cannot be reached.
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

    /// How many of the letters that one consumer has been sent stay, and how many it was not sent.
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
                // Silence alone says nothing: a broker that has much to do takes longer than that. Where it has nothing
                // left, the last of it may still be on its way.
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
                var item = DeadLetterReading.item(of: letter, at: now, names: names)
                item.cause = item.namedCause
                return item
            }
            let done = try await body(items)
            consumer.acknowledge(done.sorted().map { batch[$0].tag })
            held += batch.count - done.count
        }
    }

    /// What was looked at came round again.
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

    /// The letters that nobody holds; nil where there is no such queue.
    private func count() async throws -> Int? {
        let queue = names.dead
        return try await BrokerSession.with(broker, name: "bellhop dead-letters") { session in
            try session.checkQueue(queue)?.messages
        }
    }

    /// Publishes rejected messages to the replay queue; which of them the broker has confirmed.
    ///
    /// Those whose bodies were cut must not be among them.
    package static func republish(
        _ items: [DeadLetterItem],
        by desk: DeskOperator,
        names: TopologyNames,
        through publisher: any MessagePublisher
    ) async -> [Bool] {
        let messages = items.map { item in
            let mark = DeadLetterItem.ReplayMark(
                item: item.replay?.item ?? item.deadID,
                replay: nil,
                round: (item.replay?.round ?? 0) + 1
            )
            var replayed = Replayed(mark, by: desk.name, origin: item.origin, arrivedAt: item.failedAt)
            replayed.because = desk.because.isEmpty ? nil : String(desk.because.prefix(1_000))
            return OutgoingMessage(replaying: item.origin, replayed, names: names)
        }
        return await publisher.publish(messages).map { $0 == .confirmed }
    }

    /// What comes within the silence; nil where nothing does.
    private func next(_ consumer: Consumer) async -> [IncomingMessage]? {
        await withTaskGroup(of: [IncomingMessage]?.self) { group in
            group.addTask { await consumer.next(atMost: Self.batch, bytes: DeadLetterBook.pageBytes) }
            group.addTask { [bounds, time] in
                try? await time.sleep(for: bounds.silence)
                return nil
            }
            let first = await group.next() ?? nil
            group.cancelAll()
            // A batch that came at the very end of the silence is not lost: it would come back only with the next scan.
            if let first { return first }
            return await group.next() ?? nil
        }
    }

    private static let batch = 200
}
