package import AMQP
package import BellhopRules
package import ServiceRuntime

/// Takes the events of one lane off their queue, a batch at a time, with several batches in flight.
///
/// Batches form by themselves: whatever has arrived while the earlier ones were busy is the next one. A message is
/// acknowledged only after everything that came of it is committed or confirmed.
package struct LaneWorker: Service {
    package let name: String
    private let lane: Lane
    private let consumer: Consumer
    private let intake: Intake
    private let limits: Limits
    /// Proves that it takes messages; its consumer has to take the canary's queue, too.
    package var canary: Canary?
    /// Those whose age is measured, each with its name there.
    private let queues: [(queue: String, label: String)]
    /// The messages that the database fails on alone.
    private let stuck: StuckMessages

    /// How much one lane takes on at once.
    package struct Limits: Sendable {
        /// Events in one batch.
        package var batch: Int
        /// Batches that are being stored: two keep the database busy while the next one is parsed.
        ///
        /// How many wait for their providers' answers is bounded by the prefetch alone, so that a slow provider holds
        /// nobody else up.
        package var batchesAtOnce: Int
        /// Messages that each queue gives it without an acknowledgement.
        package var prefetch: Int

        package init(batch: Int, batchesAtOnce: Int = 2, prefetch: Int = 1024) {
            self.batch = batch
            self.batchesAtOnce = batchesAtOnce
            self.prefetch = prefetch
        }

        /// Messages that may be set aside: so many that others still come in.
        var setAside: Int { min(64, max(1, prefetch / 2)) }
    }

    /// `name` is what it is called in the log, where it is not one of the three lanes.
    package init(lane: Lane, name: String? = nil, consumer: Consumer, intake: Intake, limits: Limits) {
        self.name = name ?? "lane \(lane.rawValue)"
        self.lane = lane
        self.consumer = consumer
        self.intake = intake
        self.limits = limits
        let names = intake.tools.names
        stuck = StuckMessages(
            lane: name ?? lane.rawValue,
            names: names,
            context: intake.context,
            limit: limits.setAside
        )
        // What comes through a replay says when it was published first.
        queues =
            name == nil
            ? [(names.lane(lane), lane.rawValue), (names.resume(lane), "resume.\(lane.rawValue)")] : []
    }

    /// What keeps it from taking messages, or from proving that it does, in words; nil where nothing does.
    package var whatIsWrong: String? {
        if let trouble = intake.rehearsal.whatIsWrong { return trouble }
        return consumer.isConsuming ? stuck.whatIsWrong ?? canary?.whatIsWrong : "not consuming"
    }

    /// The same, where it has lasted for so long that somebody should see to it.
    package var hindrance: String? {
        (intake.rehearsal.hindrance ?? stuck.whatIsWrong ?? canary?.hindrance).map { "\(name): \($0)" }
    }

    /// Runs until the drain fires, then finishes the batches in flight; what was not begun goes back to the queue.
    ///
    /// Nothing is taken off the queue before the database has passed a ``Rehearsal``.
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
            if let canary { group.addTask { await sing(canary, until: drain) } }
            group.addTask(priority: priority) {
                await intake.brakes.sending {
                    await loop.run(until: drain) { batch, gate, asides in
                        let shift = Batch.Shift(
                            lane: lane,
                            drain: drain,
                            asides: asides,
                            acknowledge: { [consumer, stuck] tags in
                                consumer.acknowledge(tags)
                                stuck.noteAnswer()
                            },
                            giveBack: stuck.add
                        )
                        await process(batch, gate, shift)
                    }
                }
            }
        }
    }

    /// Each priority has threads of its own, so that an urgent event never waits until a page of a fan-out, or a batch of
    /// another lane, lets go of one.
    private var priority: TaskPriority {
        switch lane {
        case .urgent: .high
        case .normal: .medium
        case .bulk: .low
        }
    }

    /// Messages that were handed out several times before may be what killed their worker: they go in small company, so
    /// that they take few others down with them.
    ///
    /// Only the broker's word makes one a suspect; a producer's would slow the lane down.
    ///
    /// They are stored one after the other; what they send, they send side by side, since each holds a lease that does
    /// not wait for its turn.
    private func process(_ batch: [IncomingMessage], _ gate: Gate, _ shift: Batch.Shift) async {
        var batch = batch
        let canaries = takeCanaries(of: &batch)
        var stored: [StoredBatch] = []
        for company in Company.of(batch.map(\.deliveryCount)) {
            stored.append(await intake.store(company.map { batch[$0] }, shift))
        }
        gate.leave()
        await withDiscardingTaskGroup { group in
            if let canary, !canaries.isEmpty {
                group.addTask {
                    await canary.hear()
                    consumer.acknowledge(canaries)
                }
            }
            for batch in stored {
                let pages = batch.pages
                group.addTask {
                    await shift.asides.carrying(batch.sendingWeight) { await intake.deliver(batch) }
                }
                if !pages.arrived.isEmpty { group.addTask { await intake.expand(pages) } }
            }
        }
    }

    private func sing(_ canary: Canary, until drain: DrainSignal) async {
        await canary.sing(
            until: drain,
            to: {
                guard consumer.isConsuming else { return .away }
                return consumer.ownQueueRefusal.map(Canary.Perch.refused) ?? .free
            },
            intake.context.metrics.canaries.with(canary.lane)
        )
    }

    /// What is behind a canary is proved when the events that came with it are stored.
    private func takeCanaries(of batch: inout [IncomingMessage]) -> [DeliveryTag] {
        guard let canary, batch.contains(where: canary.isSinging) else { return [] }
        let canaries = batch.filter(canary.isSinging)
        batch.removeAll(where: canary.isSinging)
        return canaries.map(\.tag)
    }
}
