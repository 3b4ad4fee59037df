package import AMQP
package import BellhopRules
package import ServiceRuntime

/// Consumes the messages of one lane in batches, with several batches in flight.
///
/// A batch consists of the messages that arrived while earlier batches were busy. A message is acknowledged only after
/// all of its results are committed or confirmed.
package struct LaneWorker: Service {
    package let name: String
    private let lane: Lane
    private let consumer: Consumer
    private let intake: Intake
    private let limits: Limits
    /// Proves that the lane is consumed.
    ///
    /// The lane's consumer must consume the canary's queue, too.
    package var canary: Canary?
    /// The queues whose message age is measured, each with its label.
    private let queues: [(queue: String, label: String)]
    /// The messages that fail individually in the database.
    private let stuck: StuckMessages

    /// The limits of one lane's concurrent work.
    package struct Limits: Sendable {
        /// The maximum of events in one batch.
        package var batch: Int
        /// The number of batches that are stored concurrently; two keep the database busy while the next one is parsed.
        ///
        /// Batches that wait for their providers' answers are limited only by the prefetch, so that a slow provider
        /// delays no other.
        package var batchesAtOnce: Int
        /// The number of unacknowledged messages that each queue may deliver.
        package var prefetch: Int

        package init(batch: Int, batchesAtOnce: Int = 2, prefetch: Int = 2048) {
            self.batch = batch
            self.batchesAtOnce = batchesAtOnce
            self.prefetch = prefetch
        }

        /// The number of messages that may be set aside; a part of the prefetch stays free for others.
        var setAside: Int { min(64, max(1, prefetch / 2)) }
    }

    /// Creates a lane worker.
    ///
    /// `name` is its name in the log, if it is not one of the three lanes.
    package init(lane: Lane, name: String? = nil, consumer: Consumer, intake: Intake, limits: Limits) {
        self.name = name ?? "lane \(lane.rawValue)"
        self.lane = lane
        self.consumer = consumer
        self.intake = intake
        self.limits = limits
        let names = intake.worker.names
        stuck = StuckMessages(
            lane: name ?? lane.rawValue,
            names: names,
            context: intake.context,
            limit: limits.setAside
        )
        // A replayed message carries the time of its first publication, so its age is not measured.
        queues =
            name == nil
            ? [(names.lane(lane), lane.rawValue), (names.resume(lane), "resume.\(lane.rawValue)")] : []
    }

    /// The text of the problem that prevents intake, or its proof by the canary; `nil` if there is none.
    package var whatIsWrong: String? {
        if let trouble = intake.rehearsal.whatIsWrong { return trouble }
        return consumer.isConsuming ? stuck.whatIsWrong ?? canary?.whatIsWrong : "not consuming"
    }

    /// The text of the problem, if it has lasted so long that an operator should act.
    package var hindrance: String? {
        (intake.rehearsal.hindrance ?? stuck.whatIsWrong ?? canary?.hindrance).map { "\(name): \($0)" }
    }

    /// Runs until the drain fires, then finishes the batches in flight.
    ///
    /// Messages that were not started return to the queue.
    ///
    /// No message is consumed before the database has passed a ``Rehearsal``.
    package func run(until drain: DrainSignal) async throws {
        guard await intake.rehearsal.pass(until: drain) else { return }
        let loop = BatchLoop(
            consumer: consumer,
            batch: limits.batch,
            batchesAtOnce: limits.batchesAtOnce,
            stuck: stuck,
            clocks: intake.context.clocks,
            arrived: { [context = intake.context, queues] in
                context.metrics.queues.took($0, from: queues, now: context.time.now())
            }
        )
        await withDiscardingTaskGroup { group in
            if let canary { group.addTask { await sendCanaries(canary, until: drain) } }
            group.addTask(priority: priority) {
                await intake.holds.sending {
                    await loop.run(until: drain) { batch, limiter, detached in
                        let batchContext = Batch.Context(
                            lane: lane,
                            drain: drain,
                            detached: detached,
                            acknowledge: { [consumer, stuck] tags in
                                consumer.acknowledge(tags)
                                stuck.noteAnswer()
                            },
                            giveBack: stuck.add
                        )
                        await process(batch, limiter, batchContext)
                    }
                }
            }
        }
    }

    /// The task priority of the lane.
    ///
    /// Each priority has dedicated threads, so that an urgent event never waits for a thread of a fan-out's page or of
    /// another lane's batch.
    private var priority: TaskPriority {
        switch lane {
        case .urgent: .high
        case .normal: .medium
        case .bulk: .low
        }
    }

    /// Processes a batch.
    ///
    /// Messages that were delivered several times before may have crashed their worker, so they form small groups and
    /// affect few other messages.
    ///
    /// Only the broker's delivery count makes a message a suspect; with a producer's header, producers could slow the
    /// lane down.
    ///
    /// The groups are stored in turn. They are sent concurrently, because each has a lease that does not wait.
    private func process(_ batch: [IncomingMessage], _ limiter: ConcurrencyLimiter, _ batchContext: Batch.Context) async
    {
        var batch = batch
        let canaries = takeCanaries(of: &batch)
        var stored: [StoredBatch] = []
        for group in PoisonMessageIsolation.groups(byDeliveryCount: batch.map(\.deliveryCount)) {
            stored.append(await intake.store(group.map { batch[$0] }, batchContext))
        }
        limiter.leave()
        await withDiscardingTaskGroup { group in
            if let canary, !canaries.isEmpty {
                group.addTask {
                    await canary.noteReturn()
                    consumer.acknowledge(canaries)
                }
            }
            for stored in stored {
                let (batch, pages) = (stored.batch, stored.pages)
                group.addTask { await intake.deliver(stored) }
                if !pages.isEmpty { group.addTask { await intake.expand(pages, batch) } }
            }
        }
    }

    private func sendCanaries(_ canary: Canary, until drain: DrainSignal) async {
        await canary.sendRepeatedly(
            until: drain,
            to: {
                guard consumer.isConsuming else { return .away }
                return consumer.ownQueueRefusal.map(Canary.Readiness.refused) ?? .free
            },
            intake.context.metrics.canaries.with(canary.lane)
        )
    }

    /// Removes the canaries from a batch.
    ///
    /// They are acknowledged when the events of the same batch are stored, so they prove that step, too.
    private func takeCanaries(of batch: inout [IncomingMessage]) -> [DeliveryTag] {
        guard let canary, batch.contains(where: canary.isOwn) else { return [] }
        let canaries = batch.filter(canary.isOwn)
        batch.removeAll(where: canary.isOwn)
        return canaries.map(\.tag)
    }
}

/// Groups a batch by delivery count to isolate poison messages.
///
/// A message that was delivered several times before may have crashed its worker. But a worker that dies returns all of
/// its messages, and the broker counts that for harmless ones, too. After many crashes nearly every message is a
/// suspect. A worker that processed each suspect separately would complete so few before its next crash that all of
/// them would reach the delivery limit. The groups therefore get smaller with each delivery, and a message is alone
/// only for the last third of its deliveries.
enum PoisonMessageIsolation {
    /// The number of earlier deliveries from which a message is a suspect.
    static let suspicion = 8
    /// The initial size of a group of suspects; it is halved with each further delivery.
    static let largest = 64

    /// Returns the positions of messages with these counts of earlier deliveries, in groups, the least suspect first.
    static func groups(byDeliveryCount counts: [Int]) -> [[Int]] {
        let suspects = counts.indices.filter { counts[$0] >= suspicion }
        guard !suspects.isEmpty else { return counts.isEmpty ? [] : [Array(counts.indices)] }
        let others = counts.indices.filter { counts[$0] < suspicion }
        var groups = others.isEmpty ? [] : [others]
        for (count, places) in Dictionary(grouping: suspects, by: { counts[$0] }).sorted(by: { $0.key < $1.key }) {
            let size = max(1, largest >> (count - suspicion))
            for start in stride(from: 0, to: places.count, by: size) {
                groups.append(Array(places[start..<min(start + size, places.count)]))
            }
        }
        return groups
    }
}
