import Postgres
import Store
import Synchronization

/// The database row by which workers detect that this process has open streams.
///
/// It exists while there are streams, and for a short time afterwards.
final class ListenerRegistration: Sendable {
    private struct State {
        /// When the row was last renewed, or `nil` if it does not exist.
        var saidAt: ContinuousClock.Instant?
        /// When the row was first written, or written again after its lease had ended.
        var since: ContinuousClock.Instant?
        /// When a stream was last open.
        var neededAt: ContinuousClock.Instant?
    }

    private let book: ListenerStore
    private let process: Int64
    private let pace: StreamIntervals
    private let state = Mutex(State())

    init(book: ListenerStore, process: Int64, pace: StreamIntervals) {
        self.book = book
        self.process = process
        self.pace = pace
    }

    /// Writes or renews the row when that is due, or removes it.
    ///
    /// The settling time starts after the database has confirmed the row, since workers can see it only then.
    func keep(isNeeded: Bool, at clock: () -> ContinuousClock.Instant) async throws(StoreError) {
        let now = clock()
        let (isDue, isOver) = state.withLock { state -> (Bool, Bool) in
            if isNeeded { state.neededAt = now }
            guard let neededAt = state.neededAt else { return (false, false) }
            if now - neededAt >= pace.lease { return (false, true) }
            return (state.saidAt.map { now - $0 >= pace.renewal } ?? true, false)
        }
        if isOver { try await leave() }
        guard isDue else { return }
        try await book.listen(as: process, for: pace.lease)
        let heard = clock()
        state.withLock { state in
            let holds = state.saidAt.map { now - $0 < pace.lease } ?? false
            state.saidAt = now
            if !holds { state.since = heard }
        }
    }

    /// Whether some workers may not have seen the row yet, so that they announce no changes.
    func isSettling(at now: ContinuousClock.Instant) -> Bool {
        state.withLock { state in state.since.map { now - $0 <= pace.settling } ?? (state.neededAt != nil) }
    }

    func leave() async throws(StoreError) {
        let wasSaid = state.withLock { state in
            defer { state = State() }
            return state.saidAt != nil
        }
        if wasSaid { try await book.leave(process) }
    }
}
