import Synchronization

/// The mails of one `send` and the outcomes that have come in for them.
final class MailBatch: Sendable {
    private enum Progress {
        case waiting
        case underWay
        case ended(MailOutcome)
    }

    private struct State {
        var progress: [Progress]
        var missing: Int
        var isAbandoned = false
        var continuation: CheckedContinuation<[MailOutcome], Never>?
    }

    let mails: [OutgoingMail]
    private let attempt: String
    private let state: Mutex<State>

    init(_ mails: [OutgoingMail], attempt: String) {
        self.mails = mails
        self.attempt = attempt
        state = Mutex(State(progress: Array(repeating: .waiting, count: mails.count), missing: mails.count))
    }

    /// Nobody waits for it any more: what is under way may stop.
    var isAbandoned: Bool { state.withLock(\.isAbandoned) }

    /// Names who waits, and lets it go at once where all was over before it came.
    func begin(_ continuation: CheckedContinuation<[MailOutcome], Never>) {
        change { $0.continuation = continuation }
    }

    /// Takes up a mail; false where it has its outcome already.
    func start(_ index: Int) -> Bool {
        state.withLock { state in
            guard case .waiting = state.progress[index] else { return false }
            state.progress[index] = .underWay
            return true
        }
    }

    /// Files an outcome, unless there is one already; the last one lets go who waits.
    func settle(_ index: Int, _ outcome: MailOutcome) {
        change { state in Self.settle(index, outcome, &state) }
    }

    /// Files a mail that nobody will take up as not sent.
    func refuse(_ index: Int, _ reason: Abandonment) {
        settle(index, .notSent(reason.error(attempt: attempt)))
    }

    /// Gives every mail an outcome that has none: under way is unknown, the rest was not sent.
    func giveUp(_ reason: Abandonment) {
        let error = reason.error(attempt: attempt)
        change { state in
            state.isAbandoned = true
            for index in state.progress.indices {
                let isUnderWay = if case .underWay = state.progress[index] { true } else { false }
                Self.settle(index, isUnderWay ? .unknown(error) : .notSent(error), &state)
            }
        }
    }

    private static func settle(_ index: Int, _ outcome: MailOutcome, _ state: inout State) {
        if case .ended = state.progress[index] { return }
        state.progress[index] = .ended(outcome)
        state.missing -= 1
    }

    /// Changes the state, and lets go who waits where nothing is missing any more.
    private func change(_ body: (inout State) -> Void) {
        let (continuation, outcomes) = state.withLock {
            state -> (CheckedContinuation<[MailOutcome], Never>?, [MailOutcome]) in
            body(&state)
            guard state.missing == 0, let continuation = state.continuation else { return (nil, []) }
            state.continuation = nil
            let outcomes = state.progress.compactMap { if case .ended(let outcome) = $0 { outcome } else { nil } }
            return (continuation, outcomes)
        }
        continuation?.resume(returning: outcomes)
    }
}
