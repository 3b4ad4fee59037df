package import BellhopRules
package import ServiceRuntime
package import Store
import Synchronization

/// The results of one batch, or of all batches of a period, as figures for the log.
struct IntakeSummary: Sendable {
    /// The counted items, in the order of the log.
    enum Figure: String, CaseIterable {
        case notifications, pushes, refused, ignored, planned, cancelled, fed, resumed, badges, replayed, pages
    }

    /// The number of messages per lane.
    private(set) var messages: [(lane: String, count: Int)]
    private(set) var figures: [Figure: Int]
    /// The duration of the slowest batch.
    private(set) var longest: Duration
    private(set) var batches = 1

    init(_ messages: Int, from lane: String, figures: [Figure: Int], longest: Duration) {
        self.messages = [(lane, messages)]
        self.figures = figures
        self.longest = longest
    }

    mutating func add(_ other: IntakeSummary) {
        for (lane, count) in other.messages {
            if let index = messages.firstIndex(where: { $0.lane == lane }) {
                messages[index].count += count
            } else {
                messages.append((lane, count))
            }
        }
        figures.merge(other.figures, uniquingKeysWith: +)
        longest = max(longest, other.longest)
        batches += other.batches
    }

    var fields: LogFields {
        var fields: LogFields = ["batches": .integer(batches)]
        for (lane, count) in messages { fields[lane] = .integer(count) }
        for figure in Figure.allCases {
            if let count = figures[figure], count > 0 { fields[figure.rawValue] = .integer(count) }
        }
        fields["longest"] = .span(longest)
        return fields
    }
}

extension IntakeSummary {
    /// Creates the summary of one batch.
    init(_ parsed: ParsedBatch, _ stored: StoredBatch, took span: Duration) {
        var tally = RunLengthCounter<Figure>()
        for message in parsed.messages {
            switch message {
            case .event(let records): tally.add(.notifications, records.count)
            case .plan: tally.add(.planned)
            case .cancellation: tally.add(.cancelled)
            case .feed: tally.add(.fed)
            case .resume(let keys): tally.add(.resumed, keys.count)
            case .badges(let users): tally.add(.badges, users.count)
            case .page: tally.add(.pages)
            case .invalid: tally.add(.refused)
            case .ignored: tally.add(.ignored)
            }
        }
        tally.add(.pushes, stored.work.shipments.count)
        tally.add(.replayed, parsed.replays.count)
        let batch = stored.batch
        self.init(batch.messages.count, from: batch.lane.rawValue, figures: tally.counted(), longest: span)
    }
}

/// Logs a periodic summary of the intake in one line, because a busy worker processes hundreds of batches per second.
package final class IntakeReport: Service {
    package let name = "intake report"
    private let logger: Logger
    private let interval: Duration
    private let untold = Mutex<IntakeSummary?>(nil)
    private let deadLettered: DeadLetterTally
    /// The messages that providers have accepted since the worker's start.
    private let accepted: @Sendable () -> Int
    private let toldAccepted = Mutex(0)

    init(
        logger: Logger,
        interval: Duration = .seconds(10),
        deadLettered: DeadLetterTally = DeadLetterTally(),
        accepted: @escaping @Sendable () -> Int = { 0 }
    ) {
        self.logger = logger
        self.interval = interval
        self.deadLettered = deadLettered
        self.accepted = accepted
    }

    package func run(until drain: DrainSignal) async throws {
        while !drain.isDraining, !Task.isCancelled {
            await drain.pause(for: interval)
            tell()
        }
    }

    func add(_ batch: IntakeSummary) {
        untold.withLock { untold in
            if untold == nil { untold = batch } else { untold?.add(batch) }
        }
    }

    /// Logs the summary since the last call, if anything was processed.
    package func tell() {
        let summary = untold.withLock { untold in
            defer { untold = nil }
            return untold
        }
        let dead = deadLettered.takeFields()
        guard let summary else {
            // A delivery that is given up long after its message was taken in.
            if let dead { logger.info("dead-lettered", dead) }
            return
        }
        var fields = summary.fields
        let all = accepted()
        let latest = toldAccepted.withLock { told in
            defer { told = all }
            return all - told
        }
        // A worker whose pushes are all rejected must not look like one that sends them.
        if latest > 0 || summary.figures[.pushes] ?? 0 > 0 { fields["accepted"] = .integer(latest) }
        logger.info("took in", fields.merging(dead ?? [:]))
    }
}

extension Intake {
    /// Returns a worker's heartbeat service.
    ///
    /// Its reports contain the lanes that it serves, failing providers, the pull rates, the worker's figures and the
    /// reason why it takes no messages, if any.
    package func rollCall(
        _ identity: Heartbeat.Identity,
        lanes: [Lane]? = nil,
        book: HeartbeatStore,
        figures: WorkerFigures? = nil,
        every interval: Duration = HeartbeatDuty.usualInterval,
        hindrance: @escaping @Sendable () -> String? = { nil }
    ) -> HeartbeatDuty {
        HeartbeatDuty(
            identity,
            book: book,
            source: catalogs,
            logger: context.logger,
            interval: interval,
            hindrance: hindrance,
            holds: { [holds = worker.outlets.holds] in holds.numbers },
            breakers: { [outlets = worker.outlets] in outlets.openBreakers }
        ) { [worker, time = context.time] report in
            report.lanes = lanes
            (report.troubles, report.takings) = worker.outlets.streaks(at: time.timestamp)
            report.activities = worker.outlets.activities(at: time.timestamp)
            report.figures = figures?.current ?? [:]
            for (key, rate) in worker.outlets.takeRates() {
                report.pulls[key.text] = rate
                if rate == nil { report.measuring.insert(key.text) }
            }
        }
    }
}

extension Intake {
    /// Reports the outcome of replayed messages that are stored permanently.
    ///
    /// The outcome of an invalid message is reported by its next dead letter.
    func report(
        _ parsed: ParsedBatch,
        _ recorded: Recorder.Recorded,
        _ faults: [Entry<DeadLetterCause>],
        _ batch: Batch
    ) async {
        guard !parsed.replays.isEmpty else { return }
        let faulty = Set(faults.map(\.index))
        let settled = parsed.replays.filter { !faulty.contains($0.key) && !batch.messages.isGivenUp($0.key) }
        let reports = settled.map { index, replay in
            let outcome: ReplayOutcome =
                if recorded.hasOnlyDuplicates(of: index, in: parsed) {
                    .alreadyRecorded
                } else {
                    parsed.fansOut(index) ? .fannedOut : .recorded
                }
            return Entry(index: index, work: ReplayReport(replay.mark, outcome))
        }
        let told = await batch.store(reports) { [store = worker.store] reports throws(StoreError) in
            try await store.report(reports)
            return reports.map { _ in () }
        }
        for (entry, why) in told.refused {
            context.logger.error(
                "a replay's report is rejected",
                ["position": .integer(entry.index), "error": .text(why)]
            )
        }
    }

    /// Counts a stored batch.
    func account(_ parsed: ParsedBatch, _ stored: StoredBatch, took span: Duration) {
        for app in parsed.repaired { context.metrics.records.countRepair(app) }
        context.metrics.batch(stored.batch.messages.count, took: span)
        let summary = IntakeSummary(parsed, stored, took: span)
        context.logger.debug("batch processed", summary.fields)
        report.add(summary)
    }
}
