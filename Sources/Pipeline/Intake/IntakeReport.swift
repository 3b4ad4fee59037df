package import ServiceRuntime
import Synchronization

/// The results of one batch, or of all batches of a period, as figures for the log.
struct IntakeSummary: Sendable {
    /// The counted items, in the order of the log.
    enum Figure: String, CaseIterable {
        case notifications, pushes, refused, planned, cancelled, fed, resumed, badges, replayed, pages
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
        var tally = Tally<Figure>()
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

    package init(logger: Logger, interval: Duration = .seconds(10)) {
        self.logger = logger
        self.interval = interval
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
        if let summary { logger.info("took in", summary.fields) }
    }
}
