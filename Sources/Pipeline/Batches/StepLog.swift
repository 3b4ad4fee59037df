import ServiceRuntime
import Synchronization

/// When the steps of a batch were taken, for whoever traces them.
///
/// Thread safety: all state is behind a lock.
final class StepLog: Sendable {
    /// What all events of a batch go through together.
    enum Step: String, CaseIterable {
        case lookUp = "look up"
        case record
    }

    let time: any TimeSource
    private let spans = Mutex<[Step: (start: Instant, end: Instant)]>([:])

    init(_ time: any TimeSource) {
        self.time = time
    }

    /// A step may be taken in several parts: it lasts from the first to the last of them.
    func took(_ step: Step, from start: Instant, to end: Instant) {
        spans.withLock { spans in
            let before = spans[step]
            spans[step] = (min(before?.start ?? start, start), max(before?.end ?? end, end))
        }
    }

    /// In the order in which they are taken.
    var all: [(step: Step, start: Instant, end: Instant)] {
        spans.withLock { spans in
            Step.allCases.compactMap { step in spans[step].map { (step, $0.start, $0.end) } }
        }
    }
}

extension Batch {
    /// Does one step, and notes how long it took where somebody traces.
    func timed<Value>(_ step: StepLog.Step, _ work: () async -> Value) async -> Value {
        guard let steps else { return await work() }
        let start = steps.time.now()
        let value = await work()
        steps.took(step, from: start, to: steps.time.now())
        return value
    }
}
