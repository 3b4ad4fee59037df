package import AMQP
import BellhopRules
import ServiceRuntime
package import Store

/// Goes through the broker's dead-letter queue without the database, for the night when that is what is broken.
///
/// What is looked at and not settled goes back to the queue when the scan ends; the queue's delivery limit is out of reach.
/// A clerk has no consumer while the database is away, so nobody else takes from the queue meanwhile.
package struct DeadLetterScan: Sendable {
    private let broker: BrokerAddress
    private let names: TopologyNames
    /// The operator's program waits so long for the next message before it takes the queue for empty.
    private let silence: Duration

    package init(broker: BrokerAddress, names: TopologyNames, silence: Duration = .seconds(2)) {
        self.broker = broker
        self.names = names
        self.silence = silence
    }

    /// Calls `body` with all items that lie in the queue, in batches; those whose positions it returns leave the queue.
    ///
    /// Throws where the broker cannot be reached; false where it has no such queue.
    package func run(_ body: ([DeadLetterItem]) async throws -> Set<Int>) async throws -> Bool {
        let queue = names.dead
        let exists = try await BrokerSession.with(broker, name: "bellhop dead-letters") { session in
            try session.checkQueue(queue) != nil
        }
        guard exists else { return false }
        let consumer = Consumer(
            ConsumerOptions(
                broker: broker,
                name: "bellhop dead-letters",
                subscriptions: [.init(queue: queue, prefetch: Int(UInt16.max))]
            )
        )
        consumer.start()
        do {
            while let batch = await next(consumer) {
                let now = Timestamp(clamping: SystemTime().now().microseconds)
                let items = batch.map { DeadLetterReading.item(of: $0, at: now, names: names) }
                let done = try await body(items)
                consumer.acknowledge(done.sorted().map { batch[$0].tag })
            }
        } catch {
            await consumer.close()
            throw error
        }
        await consumer.close()
        return true
    }

    /// Publishes rejected messages to the replay queue; which of them the broker has confirmed.
    package static func republish(
        _ items: [DeadLetterItem],
        by operatorName: String,
        names: TopologyNames,
        through publisher: Publisher
    ) async -> [Bool] {
        let messages = items.map { item in
            let mark = DeadLetterItem.ReplayMark(
                item: item.replay?.item ?? item.deadID,
                replay: nil,
                round: (item.replay?.round ?? 0) + 1
            )
            let replayed = Replayed(mark, by: operatorName, origin: item.origin, arrivedAt: item.failedAt)
            return OutgoingMessage(replaying: item.origin, replayed, names: names)
        }
        return await publisher.publish(messages).map { $0 == .confirmed }
    }

    /// What comes within the silence; nil where nothing does.
    private func next(_ consumer: Consumer) async -> [IncomingMessage]? {
        await withTaskGroup(of: [IncomingMessage]?.self) { group in
            group.addTask { await consumer.next(atMost: Self.batch) }
            group.addTask { [silence] in
                try? await Task.sleep(for: silence)
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
