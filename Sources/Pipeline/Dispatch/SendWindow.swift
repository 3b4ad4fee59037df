import BellhopRules
import Synchronization

/// How many messages may be under way to one provider of one app, shared by all lanes; a tenth is kept for urgent ones.
///
/// Places are handed out in the order of asking, urgent before the others.
final class SendWindow: Sendable {
    private struct Waiter {
        let number: Int
        let wanted: Int
        let isUrgent: Bool
        let continuation: CheckedContinuation<Int, Never>
    }

    private struct State {
        var taken = 0
        var waiters: [Waiter] = []
        var lastNumber = 0
    }

    private let capacity: Int
    private let reserve: Int
    private let state = Mutex(State())

    init(capacity: Int) {
        self.capacity = max(1, capacity)
        reserve = capacity / 10
    }

    /// Takes up to `wanted` places as soon as there is one, or none when the time is up or the task is cancelled.
    func acquire(upTo wanted: Int, for lane: Lane, within limit: Duration) async -> Int {
        let isUrgent = lane == .urgent
        let granted = state.withLock { grant(wanted, isUrgent, &$0) }
        guard granted == 0 else { return granted }
        let number = state.withLock { state in
            state.lastNumber += 1
            return state.lastNumber
        }
        let timer = Task {
            try? await Task.sleep(for: limit)
            dismiss(number)
        }
        defer { timer.cancel() }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let waiter = Waiter(number: number, wanted: wanted, isUrgent: isUrgent, continuation: continuation)
                enqueue(waiter)
                // Whoever was cancelled before it stood in line is not found by the handler.
                if Task.isCancelled { dismiss(number) }
            }
        } onCancel: {
            dismiss(number)
        }
    }

    /// Gives places back and serves those who wait.
    func release(_ count: Int) {
        let served = state.withLock { state in
            state.taken -= count
            return serve(&state)
        }
        for (continuation, granted) in served { continuation.resume(returning: granted) }
    }

    /// Places that are taken now.
    var inFlight: Int { state.withLock(\.taken) }

    private func grant(_ wanted: Int, _ isUrgent: Bool, _ state: inout State) -> Int {
        let isAhead = isUrgent ? !state.waiters.contains(where: \.isUrgent) : state.waiters.isEmpty
        guard isAhead else { return 0 }
        return take(wanted, isUrgent, &state)
    }

    private func take(_ wanted: Int, _ isUrgent: Bool, _ state: inout State) -> Int {
        let free = capacity - (isUrgent ? 0 : reserve) - state.taken
        let granted = max(0, min(wanted, free))
        state.taken += granted
        return granted
    }

    private func enqueue(_ waiter: Waiter) {
        let served = state.withLock { state in
            let place = waiter.isUrgent ? state.waiters.firstIndex { !$0.isUrgent } : nil
            state.waiters.insert(waiter, at: place ?? state.waiters.endIndex)
            return serve(&state)
        }
        for (continuation, granted) in served { continuation.resume(returning: granted) }
    }

    private func serve(_ state: inout State) -> [(CheckedContinuation<Int, Never>, Int)] {
        var served: [(CheckedContinuation<Int, Never>, Int)] = []
        while let first = state.waiters.first {
            let granted = take(first.wanted, first.isUrgent, &state)
            guard granted > 0 else { break }
            state.waiters.removeFirst()
            served.append((first.continuation, granted))
        }
        return served
    }

    private func dismiss(_ number: Int) {
        let waiter = state.withLock { state in
            state.waiters.firstIndex { $0.number == number }.map { state.waiters.remove(at: $0) }
        }
        waiter?.continuation.resume(returning: 0)
    }
}
