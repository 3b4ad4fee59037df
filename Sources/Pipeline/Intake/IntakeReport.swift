package import ServiceRuntime
import Synchronization

/// What one batch, or all of a while, has become, in figures for the log.
struct IntakeSummary: Sendable {
    /// By lane.
    private(set) var messages: [(lane: String, count: Int)]
    private(set) var parts: [(name: String, count: Int)]
    /// The span of the slowest batch.
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

/// Says now and then what was taken in, in one line: a busy worker takes in hundreds of batches a second.
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

    /// Says what was taken in since the last word, where it was anything.
    package func tell() {
        let summary = untold.withLock { untold in
            defer { untold = nil }
            return untold
        }
        if let summary { logger.info("took in", summary.fields) }
    }
}
