import Synchronization

/// Spans on their way out: as many as fit, and no more, whatever becomes of the collector.
///
/// Thread safety: all state is behind a lock, which is held for as long as an append takes.
final class SpanQueue: Sendable {
    private let limit: Int
    private let state = Mutex<[Span]>([])
    private let news: AsyncStream<Void>.Continuation
    /// Something for whoever waits: the queue is half full.
    let pressure: AsyncStream<Void>

    init(limit: Int) {
        self.limit = limit
        (pressure, news) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// How many of these found no room.
    func add(_ spans: [Span]) -> Int {
        let (lost, isHalfFull) = state.withLock { queue -> (Int, Bool) in
            let room = max(0, limit - queue.count)
            queue += spans.prefix(room)
            return (max(0, spans.count - room), queue.count >= limit / 2)
        }
        if isHalfFull { news.yield() }
        return lost
    }

    /// The oldest.
    func take(_ count: Int) -> [Span] {
        state.withLock { queue in
            let taken = Array(queue.prefix(count))
            queue.removeFirst(taken.count)
            return taken
        }
    }

    /// What could not be sent takes its place again, as far as there is room; how many found none.
    func putBack(_ spans: [Span]) -> Int {
        state.withLock { queue in
            let kept = spans.suffix(max(0, limit - queue.count))
            queue.insert(contentsOf: kept, at: 0)
            return spans.count - kept.count
        }
    }

    var count: Int { state.withLock { $0.count } }
}
