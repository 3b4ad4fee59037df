import ServiceRuntime
import Synchronization

/// The state that a publisher's callers share with its thread.
///
/// Thread safety: one lock protects all state; continuations are resumed outside the lock.
final class PublisherOutbox: Sendable {
    /// The messages of one call.
    struct Submission: Sendable {
        let messages: [OutgoingMessage]
        /// Whether a message is sent only while all earlier ones of the call are confirmed or open.
        let isOrdered: Bool
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

    func close() { change { $0.phase = .closing } }

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

    func wakeUp() { state.withLock { $0.isAsleep = false } }

    func setConnected(_ isConnected: Bool) {
        state.withLock { state in
            state.isConnected = isConnected
            state.isBlocked = false
        }
    }

    func setBlocked(_ isBlocked: Bool) { state.withLock { $0.isBlocked = isBlocked } }

    func finish() { completion.complete() }
}

/// The messages of one call and their outcomes so far.
///
/// Confined to the publisher's thread.
final class PublishBatch {
    let messages: [OutgoingMessage]
    let since: ContinuousClock.Instant
    private let isOrdered: Bool
    private var hasFailure = false
    private var outcomes: Outcomes<PublishOutcome>

    /// Whether its remaining messages must not be sent: they would overtake a message that was not confirmed.
    var isInterrupted: Bool { isOrdered && hasFailure }

    init(_ submission: PublisherOutbox.Submission) {
        messages = submission.messages
        since = submission.since
        isOrdered = submission.isOrdered
        outcomes = Outcomes(count: submission.messages.count)
        outcomes.begin(submission.answer)
    }

    /// Records an outcome.
    ///
    /// The first one counts; the last missing one answers the call.
    func resolve(_ index: Int, _ outcome: PublishOutcome) {
        if outcome != .confirmed { hasFailure = true }
        outcomes.settle(index, outcome)
    }
}

/// One message of a batch.
struct PendingPublish {
    let batch: PublishBatch
    let index: Int

    var message: OutgoingMessage { batch.messages[index] }

    func resolve(_ outcome: PublishOutcome) { batch.resolve(index, outcome) }
}

/// The messages that were submitted and not sent, oldest first.
///
/// Confined to the publisher's thread.
struct UnsentMessages {
    private var batches = Queue<PublishBatch>()
    /// The index of the next message of the first batch.
    private var next = 0
    private var latestProgress = ContinuousClock.now

    var isEmpty: Bool { batches.isEmpty }

    mutating func add(_ submissions: [PublisherOutbox.Submission]) {
        batches.append(contentsOf: submissions.map(PublishBatch.init))
    }

    /// Takes the next message, and gives up messages that would overtake an earlier one of their call.
    mutating func pop() -> PendingPublish? {
        while let batch = batches.first, batch.isInterrupted {
            refuseFirst(batch, "an earlier message of the same call was not confirmed")
        }
        guard let batch = batches.first else { return nil }
        let ticket = PendingPublish(batch: batch, index: next)
        next += 1
        if next == ticket.batch.messages.count { dropFirst() }
        return ticket
    }

    /// Records that messages are being sent or confirmed, so that those waiting behind them are not overdue.
    mutating func progressed() { latestProgress = .now }

    /// Gives up messages that waited longer than `timeout` without progress.
    mutating func expire(_ timeout: Duration, at now: ContinuousClock.Instant, _ reason: String) {
        guard latestProgress.duration(to: now) > timeout else { return }
        while let batch = batches.first, batch.since.duration(to: now) > timeout { refuseFirst(batch, reason) }
    }

    mutating func refuseAll(_ reason: String) {
        while let batch = batches.first { refuseFirst(batch, reason) }
    }

    private mutating func refuseFirst(_ batch: PublishBatch, _ reason: String) {
        for index in next..<batch.messages.count { batch.resolve(index, .notSent(reason)) }
        dropFirst()
    }

    private mutating func dropFirst() {
        batches.removeFirst(1)
        next = 0
    }
}
