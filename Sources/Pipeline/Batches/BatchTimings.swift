import ServiceRuntime
import Synchronization

/// The times of a batch's steps, for tracing.
///
/// Thread safety: all state is behind a lock.
final class BatchTimings: Sendable {
    /// A step that all events of a batch take together.
    enum Step: String, CaseIterable {
        case lookUp = "look up"
        case record
    }

    let time: any TimeSource
    private let spans = Mutex<[Step: (start: Instant, end: Instant)]>([:])

    init(_ time: any TimeSource) {
        self.time = time
    }

    /// Notes the time of a step.
    ///
    /// A step in several parts lasts from the first to the last of them.
    func took(_ step: Step, from start: Instant, to end: Instant) {
        spans.withLock { spans in
            let before = spans[step]
            spans[step] = (min(before?.start ?? start, start), max(before?.end ?? end, end))
        }
    }

    /// The steps in their order.
    var all: [(step: Step, start: Instant, end: Instant)] {
        spans.withLock { spans in
            Step.allCases.compactMap { step in spans[step].map { (step, $0.start, $0.end) } }
        }
    }
}

extension Batch {
    /// Runs one step, and notes its duration if the batch is traced.
    func timed<Value>(_ step: BatchTimings.Step, _ work: () async -> Value) async -> Value {
        guard let steps else { return await work() }
        let start = steps.time.now()
        let value = await work()
        steps.took(step, from: start, to: steps.time.now())
        return value
    }
}
