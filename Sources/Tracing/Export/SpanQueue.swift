import ServiceRuntime
import Synchronization

/// Spans that wait to be sent, limited in number whatever the state of the collector.
///
/// Thread safety: all state is guarded by a lock, which is held only for the duration of an append.
final class SpanQueue: Sendable {
    private struct State {
        var spans: [Span] = []
        /// The signal of the task that waits until the queue is half full.
        var waiting: DrainSignal?
    }

    private let limit: Int
    private let state = Mutex(State())

    init(limit: Int) { self.limit = limit }

    /// Returns when the queue is half full, or when the waiting task is cancelled; only one task may wait at a time.
    func becomesHalfFull() async {
        let signal = DrainSignal()
        let isHalfFull = state.withLock { queue in
            queue.waiting = signal
            return queue.spans.count >= limit / 2
        }
        if !isHalfFull { await signal.wait() }
    }

    /// Adds spans and returns the number that did not fit.
    func add(_ spans: [Span]) -> Int {
        let (lost, waiting) = state.withLock { queue -> (Int, DrainSignal?) in
            let room = max(0, limit - queue.spans.count)
            queue.spans += spans.prefix(room)
            return (max(0, spans.count - room), queue.spans.count >= limit / 2 ? queue.waiting : nil)
        }
        waiting?.fire()
        return lost
    }

    /// Removes and returns the oldest spans.
    func take(_ count: Int) -> [Span] {
        state.withLock { queue in
            let taken = Array(queue.spans.prefix(count))
            queue.spans.removeFirst(taken.count)
            return taken
        }
    }

    /// Returns unsent spans to the front of the queue if there is space.
    ///
    /// - Returns: the number that did not fit.
    func putBack(_ spans: [Span]) -> Int {
        state.withLock { queue in
            let kept = spans.suffix(max(0, limit - queue.spans.count))
            queue.spans.insert(contentsOf: kept, at: 0)
            return spans.count - kept.count
        }
    }

    var count: Int { state.withLock { $0.spans.count } }
}
