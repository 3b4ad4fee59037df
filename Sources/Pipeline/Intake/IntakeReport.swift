package import ServiceRuntime
import Synchronization

/// The results of one batch, or of all batches of a period, as figures for the log.
struct IntakeSummary: Sendable {
    /// The number of messages per lane.
    private(set) var messages: [(lane: String, count: Int)]
    private(set) var parts: [(name: String, count: Int)]
    /// The duration of the slowest batch.
    private(set) var longest: Duration
    private(set) var batches = 1

    init(messages: [(String, Int)], parts: [(String, Int)], longest: Duration) {
        self.messages = messages.map { (lane: $0.0, count: $0.1) }
        self.parts = parts.map { (name: $0.0, count: $0.1) }
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
        for (name, count) in other.parts {
            if let index = parts.firstIndex(where: { $0.name == name }) { parts[index].count += count }
        }
        longest = max(longest, other.longest)
        batches += other.batches
    }

    var fields: LogFields {
        var fields: LogFields = ["batches": .integer(batches)]
        for (lane, count) in messages { fields[lane] = .integer(count) }
        for (name, count) in parts where count > 0 { fields[name] = .integer(count) }
        fields["longest"] = .span(longest)
        return fields
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
