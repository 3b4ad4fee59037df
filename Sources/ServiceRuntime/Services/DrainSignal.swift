import Synchronization

/// Signals once, to all services, that no new work should be started.
package final class DrainSignal: Sendable {
    private struct Waiters {
        var next = 0
        var continuations: [Int: CheckedContinuation<Void, Never>] = [:]
    }

    private let fired = Atomic<Bool>(false)
    private let waiters = Mutex(Waiters())

    package init() {}

    /// Whether the drain has begun.
    ///
    /// One atomic load is cheap enough to be checked for every message.
    package var isDraining: Bool { fired.load(ordering: .acquiring) }

    /// Returns when the signal fires, or when the waiting task is cancelled.
    package func wait() async {
        let ticket = waiters.withLock { waiters in
            waiters.next += 1
            return waiters.next
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isOver = waiters.withLock { waiters in
                    // Checked under the lock, so that a later cancellation finds the continuation.
                    if isDraining || Task.isCancelled { return true }
                    waiters.continuations[ticket] = continuation
                    return false
                }
                if isOver { continuation.resume() }
            }
        } onCancel: {
            waiters.withLock { $0.continuations.removeValue(forKey: ticket) }?.resume()
        }
    }

    /// Fires the signal; a repeated call has no effect.
    package func fire() {
        let waiting = waiters.withLock { waiters in
            fired.store(true, ordering: .releasing)
            defer { waiters.continuations = [:] }
            return Array(waiters.continuations.values)
        }
        for continuation in waiting { continuation.resume() }
    }
}

extension DrainSignal {
    /// Waits for `span`, or until the drain begins.
    package func pause(for span: Duration) async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { try? await Task.sleep(for: span) }
            group.addTask { await self.wait() }
            await group.next()
            group.cancelAll()
        }
    }
}

extension ProcessSignal {
    /// Calls `work` for each of `arrivals`, in turn, until the drain.
    package static func attend(
        _ arrivals: AsyncStream<ProcessSignal>,
        until drain: DrainSignal,
        _ work: @escaping @Sendable () async -> Void
    ) async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { for await _ in arrivals { await work() } }
            group.addTask { await drain.wait() }
            await group.next()
            group.cancelAll()
        }
    }
}
