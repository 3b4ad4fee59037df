import ServiceRuntime
import Synchronization

/// Spans on their way out: as many as fit, and no more, whatever becomes of the collector.
///
/// Thread safety: all state is behind a lock, which is held for as long as an append takes.
final class SpanQueue: Sendable {
    private struct State {
        var spans: [Span] = []
        /// Who waits until the queue is half full.
        var waiting: DrainSignal?
    }

    private let limit: Int
    private let state = Mutex(State())

    init(limit: Int) {
        self.limit = limit
    }

    /// Returns when the queue is half full, or the waiting task is cancelled; one waits at a time.
    func becomesHalfFull() async {
        let signal = DrainSignal()
        let isHalfFull = state.withLock { queue in
            queue.waiting = signal
            return queue.spans.count >= limit / 2
        }
        if !isHalfFull { await signal.wait() }
    }

    /// How many of these found no room.
    func add(_ spans: [Span]) -> Int {
        let (lost, waiting) = state.withLock { queue -> (Int, DrainSignal?) in
            let room = max(0, limit - queue.spans.count)
            queue.spans += spans.prefix(room)
            return (max(0, spans.count - room), queue.spans.count >= limit / 2 ? queue.waiting : nil)
        }
        waiting?.fire()
        return lost
    }

    /// The oldest.
    func take(_ count: Int) -> [Span] {
        state.withLock { queue in
            let taken = Array(queue.spans.prefix(count))
            queue.spans.removeFirst(taken.count)
            return taken
        }
    }

    /// What could not be sent takes its place again, as far as there is room; how many found none.
    func putBack(_ spans: [Span]) -> Int {
        state.withLock { queue in
            let kept = spans.suffix(max(0, limit - queue.spans.count))
            queue.spans.insert(contentsOf: kept, at: 0)
            return spans.count - kept.count
        }
    }

    var count: Int { state.withLock { $0.spans.count } }
}
