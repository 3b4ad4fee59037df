import ServiceRuntime
import Store
import Synchronization

/// Runs the statement that records a batch without any record, before the lanes of a worker take their first messages.
///
/// While a table is locked, a right is missing or the server is read-only, a worker cannot store anything. If it
/// consumed messages and restarted repeatedly, the broker would count each return, and valid events would become dead
/// letters at the delivery limit.
///
/// Thread safety: the state is behind a lock.
final class Rehearsal: Sendable {
    private struct State {
        var trouble: String? = "it has not been tried yet"
        /// The start of the first attempt.
        var since: ContinuousClock.Instant?
    }

    private let store: any WorkerDatabase
    private let context: PipelineContext
    private let state = Mutex(State())
    /// One lane runs the rehearsal for all.
    private let limiter = ConcurrencyLimiter(places: 1)

    init(store: any WorkerDatabase, context: PipelineContext) {
        self.store = store
        self.context = context
    }

    /// The text of the problem; `nil` once the database has passed.
    var whatIsWrong: String? {
        state.withLock { $0.trouble }.map { "it takes no messages before the database can record them: \($0)" }
    }

    /// The text of the problem, if it has lasted so long that an operator should act.
    var hindrance: String? {
        guard let since = state.withLock({ $0.since }) else { return nil }
        return since.duration(to: context.time.steady()) > CanaryState.patience ? whatIsWrong : nil
    }

    /// Repeats the statement until it succeeds.
    ///
    /// - Returns: Whether it has; `false` if a drain or a cancellation came first.
    func pass(until drain: DrainSignal) async -> Bool {
        await withTaskGroup(of: Bool.self) { group in
            group.addTask { await self.insist(until: drain) }
            group.addTask {
                // A statement that waits for a lock must not delay a drain.
                await drain.wait()
                return false
            }
            let isPassed = await group.next() ?? false
            group.cancelAll()
            return isPassed
        }
    }

    private func insist(until drain: DrainSignal) async -> Bool {
        await limiter.enter()
        defer { limiter.leave() }
        guard state.withLock({ $0.trouble != nil }) else { return true }
        let persistence = WriteRetrier(drain: drain, context: context)
        let now = context.time.steady()
        state.withLock { $0 = State(trouble: "the statement is waiting, probably for a lock", since: now) }
        let passed: Void? = await persistence.insist { [self] () throws(StoreError) in
            do throws(StoreError) {
                try await store.rehearse()
            } catch {
                state.withLock { $0.trouble = error.message }
                throw error
            }
        }
        guard passed != nil else { return false }
        state.withLock { $0.trouble = nil }
        return true
    }
}
