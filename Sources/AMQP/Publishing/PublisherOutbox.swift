import ServiceRuntime
import Synchronization

/// The state that a publisher's callers share with its thread.
///
/// Thread safety: one lock protects all state; continuations are resumed outside the lock.
final class PublisherOutbox: Sendable {
    /// The messages of one call.
    struct Submission: Sendable {
        let messages: [OutgoingMessage]
        let since: ContinuousClock.Instant
        let answer: CheckedContinuation<[PublishOutcome], Never>

        func refuse(_ reason: String) {
            answer.resume(returning: messages.map { _ in .notSent(reason) })
        }
    }

    enum Phase {
        case notStarted, open, closing
    }

    private struct State {
        var phase = Phase.notStarted
        var submissions: [Submission] = []
        var isAsleep = false
        var hasNews = false
        var isConnected = false
        var isBlocked = false
    }

    let waker = Waker()
    private let completion = Completion()
    private let state = Mutex(State())

    // MARK: Users' side

    var isConnected: Bool { state.withLock { $0.isConnected } }

    var isBlocked: Bool { state.withLock { $0.isBlocked } }

    /// Opens the outbox; returns `false` if it was opened or closed before.
    func open() -> Bool {
        state.withLock { state in
            guard state.phase == .notStarted else { return false }
            state.phase = .open
            return true
        }
    }

    func submit(_ submission: Submission) {
        let phase = change { state in
            if state.phase == .open { state.submissions.append(submission) }
            return state.phase
        }
        switch phase {
        case .open: break
        case .notStarted: submission.refuse("the publisher has not been started")
        case .closing: submission.refuse("the publisher is closed")
        }
    }

    func close() {
        change { $0.phase = .closing }
    }

    func finished(within limit: Duration) async { await completion.wait(within: limit) }

    /// Changes the thread's pending work, and wakes the thread if it sleeps.
    private func change<Result: Sendable>(_ body: (inout State) -> Result) -> Result {
        let (result, wakes) = state.withLock { state -> (Result, Bool) in
            let result = body(&state)
            state.hasNews = true
            defer { state.isAsleep = false }
            return (result, state.isAsleep)
        }
        if wakes { waker.wake() }
        return result
    }

    // MARK: Thread's side

    func takeSubmissions() -> (submissions: [Submission], isClosing: Bool) {
        state.withLock { state in
            defer {
                state.submissions = []
                state.hasNews = false
            }
            return (state.submissions, state.phase == .closing)
        }
    }

    /// Whether the thread may sleep; from now on, new work wakes it.
    func fallAsleep() -> Bool {
        state.withLock { state in
            state.isAsleep = !state.hasNews
            return state.isAsleep
        }
    }

    func wakeUp() {
        state.withLock { $0.isAsleep = false }
    }

    func setConnected(_ isConnected: Bool) {
        state.withLock { state in
            state.isConnected = isConnected
            state.isBlocked = false
        }
    }

    func setBlocked(_ isBlocked: Bool) {
        state.withLock { $0.isBlocked = isBlocked }
    }

    func finish() { completion.complete() }
}
