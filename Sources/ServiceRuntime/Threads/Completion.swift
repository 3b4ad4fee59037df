import Synchronization

/// The end of something, to be waited for, with or without a limit.
///
/// Thread safety: the state is behind a lock; continuations are resumed outside of it.
package final class Completion: Sendable {
    private struct State {
        var isComplete = false
        var waiters: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())

    package init() {}

    package func complete() {
        release { $0.isComplete = true }
    }

    /// Returns when complete, whether the waiting task is cancelled or not.
    package func wait() async {
        await withCheckedContinuation { waiter in
            let isOver = state.withLock { state in
                if !state.isComplete { state.waiters.append(waiter) }
                return state.isComplete
            }
            if isOver { waiter.resume() }
        }
    }

    /// Returns when complete, or after `limit`; waiting together, the shortest limit counts for all.
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
