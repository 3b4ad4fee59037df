import BellhopRules
import Synchronization

/// How many messages may be under way to one provider of one app, over all lanes and in each of them; a tenth is kept for
/// urgent ones.
///
/// Places are handed out in the order of asking, urgent before the others. Whoever stands in line could have none when it
/// came, nor at any move since; so nobody is overtaken by one who comes and finds a place.
///
/// Thread safety: all state is behind one lock; continuations are resumed outside of it.
final class SendWindow: Sendable {
    private struct Waiter {
        let number: Int
        let wanted: Int
        let lane: Lane
        let continuation: CheckedContinuation<Int, Never>
    }

    private struct State {
        var taken: [Lane: Int] = [:]
        /// When a place was last taken or given back: full since then at the longest.
        var latestMove = ContinuousClock.now
        var waiters: [Waiter] = []
        var lastNumber = 0
    }

    private typealias Served = [(continuation: CheckedContinuation<Int, Never>, granted: Int)]

    private let capacity: Int
    private let reserve: Int
    private let limits: [Lane: Int]
    private let state = Mutex(State())

    /// `limits` is what one lane may take; a lane without a limit may take all.
    init(capacity: Int, limits: [Lane: Int] = [:]) {
        self.capacity = max(1, capacity)
        self.limits = limits
        reserve = capacity / 10
    }

    /// Takes up to `wanted` places as soon as there is one, or none when the time is up or the task is cancelled.
    ///
    /// The time is up at once where nothing has moved for as long as `patience`: whoever comes to a window that stands
    /// still learns nothing by waiting, and a long line would wait its patience out one after the other.
    func acquire(
        upTo wanted: Int,
        for lane: Lane,
        until deadline: ContinuousClock.Instant,
        patience: Duration
    ) async -> Int {
        let (granted, latestMove) = state.withLock { (take(wanted, lane, &$0), $0.latestMove) }
        let end = min(deadline, latestMove + patience)
        guard granted == 0, end > .now else { return granted }
        let number = state.withLock { state in
            state.lastNumber += 1
            return state.lastNumber
        }
        let timer = Task {
            try? await Task.sleep(until: end, clock: .continuous)
            dismiss(number)
        }
        defer { timer.cancel() }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                enqueue(Waiter(number: number, wanted: wanted, lane: lane, continuation: continuation))
                // Whoever was cancelled or late before it stood in line is not found by the handler or the timer.
                if Task.isCancelled || end <= .now { dismiss(number) }
            }
        } onCancel: {
            dismiss(number)
        }
    }

    /// Gives places of a lane back and serves those who wait.
    func release(_ count: Int, of lane: Lane) {
        let served = state.withLock { state in
            state.taken[lane, default: 0] -= count
            state.latestMove = .now
            return serve(&state)
        }
        for (continuation, granted) in served { continuation.resume(returning: granted) }
    }

    /// Places that are taken now.
    var inFlight: Int { state.withLock { $0.taken.values.reduce(0, +) } }

    /// Callers who stand in line.
    var waiting: Int { state.withLock(\.waiters.count) }

    private func take(_ wanted: Int, _ lane: Lane, _ state: inout State) -> Int {
        let all = state.taken.values.reduce(0, +)
        let free = capacity - (lane == .urgent ? 0 : reserve) - all
        let rest = limits[lane].map { $0 - state.taken[lane, default: 0] } ?? free
        let granted = max(0, min(wanted, free, rest))
        guard granted > 0 else { return 0 }
        state.taken[lane, default: 0] += granted
        state.latestMove = .now
        return granted
    }

    private func enqueue(_ waiter: Waiter) {
        let served = state.withLock { state in
            let place = waiter.lane == .urgent ? state.waiters.firstIndex { $0.lane != .urgent } : nil
            state.waiters.insert(waiter, at: place ?? state.waiters.endIndex)
            return serve(&state)
        }
        for (continuation, granted) in served { continuation.resume(returning: granted) }
    }

    private func serve(_ state: inout State) -> Served {
        var served: Served = []
        var left: [Waiter] = []
        for waiter in state.waiters {
            let granted = take(waiter.wanted, waiter.lane, &state)
            if granted > 0 { served.append((waiter.continuation, granted)) } else { left.append(waiter) }
        }
        state.waiters = left
        return served
    }

    private func dismiss(_ number: Int) {
        let waiter = state.withLock { state in
            state.waiters.firstIndex { $0.number == number }.map { state.waiters.remove(at: $0) }
        }
        waiter?.continuation.resume(returning: 0)
    }
}
