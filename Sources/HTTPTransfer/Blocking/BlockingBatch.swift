import ServiceRuntime
import Synchronization

/// The jobs of one `send` and the outcomes received for them.
final class BlockingBatch<L: Lane>: Sendable {
    private struct State {
        var outcomes: Outcomes<L.Outcome>
        /// Jobs of which bytes may have been sent.
        var departed: Set<Int> = []
        var isAbandoned = false
    }

    let jobs: [L.Job]
    private let options: L.Options
    private let state: Mutex<State>

    init(_ jobs: [L.Job], _ options: L.Options) {
        self.jobs = jobs
        self.options = options
        state = Mutex(State(outcomes: Outcomes(count: jobs.count)))
    }

    /// Whether no task waits for the batch any longer, so that active jobs may stop.
    var isAbandoned: Bool { state.withLock(\.isAbandoned) }

    /// Sets the waiting task, and resumes it immediately if all jobs have already ended.
    func begin(_ waiter: CheckedContinuation<[L.Outcome], Never>) {
        state.withLock { $0.outcomes.begin(waiter) }
    }

    /// Records that a job may reach the peer from now on; returns false if it already has its outcome.
    func depart(_ index: Int) -> Bool {
        state.withLock { state in
            guard state.outcomes.isOpen(index) else { return false }
            state.departed.insert(index)
            return true
        }
    }

    /// Stores an outcome, unless there is one already; the last one resumes the waiting task.
    func settle(_ index: Int, _ outcome: L.Outcome) {
        state.withLock { $0.outcomes.settle(index, outcome) }
    }

    /// Settles a job that no lane will process as not sent.
    func refuse(_ index: Int, _ reason: AbortReason) {
        settle(index, .notSent(error(index, reason)))
    }

    /// Settles every job without an outcome: departed jobs as unknown, the others as not sent.
    func giveUp(_ reason: AbortReason) {
        state.withLock { state in
            state.isAbandoned = true
            for index in jobs.indices where state.outcomes.isOpen(index) {
                let error = error(index, reason)
                state.outcomes.settle(index, state.departed.contains(index) ? .unknown(error) : .notSent(error))
            }
        }
    }

    private func error(_ index: Int, _ reason: AbortReason) -> TransferError {
        reason.error(attempt: L.attempt(jobs[index], options))
    }
}
