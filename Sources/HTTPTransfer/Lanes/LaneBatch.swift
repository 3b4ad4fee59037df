import Synchronization

/// The jobs of one `send` and the outcomes that have come in for them.
final class LaneBatch<L: Lane>: Sendable {
    private enum Progress {
        /// Nothing of it has gone out.
        case here
        case departed
        case ended(L.Outcome)
    }

    private struct State {
        var progress: [Progress]
        var missing: Int
        var isAbandoned = false
        var continuation: CheckedContinuation<[L.Outcome], Never>?
    }

    let jobs: [L.Job]
    private let options: L.Options
    private let state: Mutex<State>

    init(_ jobs: [L.Job], _ options: L.Options) {
        self.jobs = jobs
        self.options = options
        state = Mutex(State(progress: Array(repeating: .here, count: jobs.count), missing: jobs.count))
    }

    /// Nobody waits for it any more: what is under way may stop.
    var isAbandoned: Bool { state.withLock(\.isAbandoned) }

    /// Names who waits, and lets it go at once where all was over before it came.
    func begin(_ continuation: CheckedContinuation<[L.Outcome], Never>) {
        change { $0.continuation = continuation }
    }

    /// A job may reach the peer from here on; false where it has its outcome already.
    func depart(_ index: Int) -> Bool {
        state.withLock { state in
            if case .ended = state.progress[index] { return false }
            state.progress[index] = .departed
            return true
        }
    }

    /// Files an outcome, unless there is one already; the last one lets go who waits.
    func settle(_ index: Int, _ outcome: L.Outcome) {
        change { state in Self.settle(index, outcome, &state) }
    }

    /// Files a job that nobody will take up as not sent.
    func refuse(_ index: Int, _ reason: Abandonment) {
        settle(index, .notSent(error(index, reason)))
    }

    /// Gives every job an outcome that has none: what has departed is unknown, the rest was not sent.
    func giveUp(_ reason: Abandonment) {
        change { state in
            state.isAbandoned = true
            for index in state.progress.indices {
                switch state.progress[index] {
                case .here: Self.settle(index, .notSent(error(index, reason)), &state)
                case .departed: Self.settle(index, .unknown(error(index, reason)), &state)
                case .ended: break
                }
            }
        }
    }

    private func error(_ index: Int, _ reason: Abandonment) -> TransferError {
        reason.error(attempt: L.attempt(jobs[index], options))
    }

    private static func settle(_ index: Int, _ outcome: L.Outcome, _ state: inout State) {
        if case .ended = state.progress[index] { return }
        state.progress[index] = .ended(outcome)
        state.missing -= 1
    }

    /// Changes the state, and lets go who waits where nothing is missing any more.
    private func change(_ body: (inout State) -> Void) {
        let (continuation, outcomes) = state.withLock {
            state -> (CheckedContinuation<[L.Outcome], Never>?, [L.Outcome]) in
            body(&state)
            guard state.missing == 0, let continuation = state.continuation else { return (nil, []) }
            state.continuation = nil
            let outcomes = state.progress.compactMap { if case .ended(let outcome) = $0 { outcome } else { nil } }
            return (continuation, outcomes)
        }
        continuation?.resume(returning: outcomes)
    }
}
