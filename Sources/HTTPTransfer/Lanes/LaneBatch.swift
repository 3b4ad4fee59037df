import ServiceRuntime
import Synchronization

/// The jobs of one `send` and the outcomes that have come in for them.
final class LaneBatch<L: Lane>: Sendable {
    private struct State {
        var outcomes: Outcomes<L.Outcome>
        /// Jobs of which something may have gone out.
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

    /// Nobody waits for it any more: what is under way may stop.
    var isAbandoned: Bool { state.withLock(\.isAbandoned) }

    /// Names who waits, and lets it go at once where all was over before it came.
    func begin(_ waiter: CheckedContinuation<[L.Outcome], Never>) {
        state.withLock { $0.outcomes.begin(waiter) }
    }

    /// A job may reach the peer from here on; false where it has its outcome already.
    func depart(_ index: Int) -> Bool {
        state.withLock { state in
            guard state.outcomes.isOpen(index) else { return false }
            state.departed.insert(index)
            return true
        }
    }

    /// Files an outcome, unless there is one already; the last one lets go who waits.
    func settle(_ index: Int, _ outcome: L.Outcome) {
        state.withLock { $0.outcomes.settle(index, outcome) }
    }

    /// Files a job that nobody will take up as not sent.
    func refuse(_ index: Int, _ reason: Abandonment) {
        settle(index, .notSent(error(index, reason)))
    }

    /// Gives every job an outcome that has none: what has departed is unknown, the rest was not sent.
    func giveUp(_ reason: Abandonment) {
        state.withLock { state in
            state.isAbandoned = true
            for index in jobs.indices where state.outcomes.isOpen(index) {
                let error = error(index, reason)
                state.outcomes.settle(index, state.departed.contains(index) ? .unknown(error) : .notSent(error))
            }
        }
    }

    private func error(_ index: Int, _ reason: Abandonment) -> TransferError {
        reason.error(attempt: L.attempt(jobs[index], options))
    }
}
