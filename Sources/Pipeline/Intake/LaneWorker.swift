package import AMQP
package import BellhopRules
package import ServiceRuntime

/// Takes the events of one lane off their queue, a batch at a time, with several batches in flight.
///
/// Batches form by themselves: whatever has arrived while the earlier ones were busy is the next one. A message is
/// acknowledged only after everything that came of it is committed or confirmed.
package struct LaneWorker: Service {
    package let name: String
    private let consumer: Consumer
    private let frontDoor: FrontDoor
    private let limits: Limits

    /// How much one lane takes on at once.
    package struct Limits: Sendable {
        /// Events in one batch.
        package var batch: Int
        /// Batches in flight: two keep the database busy while the next batch is parsed.
        package var concurrentBatches: Int

        package init(batch: Int, concurrentBatches: Int = 2) {
            self.batch = batch
            self.concurrentBatches = concurrentBatches
        }
    }

    package init(lane: Lane, consumer: Consumer, frontDoor: FrontDoor, limits: Limits) {
        name = "lane \(lane.rawValue)"
        self.consumer = consumer
        self.frontDoor = frontDoor
        self.limits = limits
    }

    /// Whether messages can arrive.
    package var isReady: Bool { consumer.isConsuming }

    /// Runs until the drain fires, then finishes the batches in flight; what was not begun goes back to the queue.
    package func run(until drain: DrainSignal) async throws {
        consumer.start()
        await withTaskGroup(of: Void.self) { group in
            group.addTask { [consumer] in
                await drain.wait()
                consumer.stop()
            }
            // The watcher stays in the group, so one more task than there are batches.
            var running = 1
            while true {
                if running > limits.concurrentBatches {
                    await group.next()
                    running -= 1
                }
                guard let batch = await consumer.next(atMost: limits.batch) else { break }
                group.addTask { await settle(batch, drain) }
                running += 1
            }
        }
        await consumer.close()
    }

    /// Messages that were handed out several times before may be what killed their worker: each goes alone, so that it
    /// takes no other down with it.
    private func settle(_ batch: [IncomingMessage], _ drain: DrainSignal) async {
        let suspects = batch.filter { $0.deliveryCount >= Self.suspicion }
        let others = suspects.isEmpty ? batch : batch.filter { $0.deliveryCount < Self.suspicion }
        for messages in [others] + suspects.map({ [$0] }) where !messages.isEmpty {
            let settled = await frontDoor.process(messages, until: drain)
            consumer.acknowledge(settled.map(\.tag))
        }
    }

    private static let suspicion = 3
}
