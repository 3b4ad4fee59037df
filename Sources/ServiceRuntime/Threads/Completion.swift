import Synchronization

/// The end of an operation, which callers can await with or without a limit.
///
/// Thread safety: a lock protects the state; continuations are resumed outside the lock.
package final class Completion: Sendable {
    private struct State {
        var isComplete = false
        var waiters: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())

    package init() {}

    package func complete() { release { $0.isComplete = true } }

    /// Returns when complete, even if the waiting task is cancelled.
    package func wait() async {
        await withCheckedContinuation { waiter in
            let isOver = state.withLock { state in
                if !state.isComplete { state.waiters.append(waiter) }
                return state.isComplete
            }
            if isOver { waiter.resume() }
        }
    }

    /// Returns when complete, or after `limit`.
    ///
    /// If several callers wait, the shortest limit applies to all of them.
    package func wait(within limit: Duration) async {
        let timer = Task {
            try await Task.sleep(for: limit)
            release { _ in }
        }
        defer { timer.cancel() }
        await wait()
    }

    private func release(_ change: (inout State) -> Void) {
        let waiters = state.withLock { state in
            change(&state)
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.resume() }
    }
}
