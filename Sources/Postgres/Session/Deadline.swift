import Synchronization

/// The time limit of one exchange with the server, and its possible cancellation.
///
/// When the time ends, the server is asked to cancel and gets a grace period to answer, because only its answer shows
/// whether the statement took effect.
struct Deadline {
    private let cancellation: CancellationHandle
    private let limit: Duration
    private var deadline: ContinuousClock.Instant
    /// The reason for which the server was asked to stop.
    private(set) var reason: Reason?
    /// The cancel request that the time limit caused; the cancellation holds the caller's request.
    private(set) var request: CancelRequest?

    enum Reason {
        case cancelled
        case timedOut(after: Duration)
        /// The server does not answer new connections either.
        case silent(for: Duration)
    }

    /// The time that the server gets to answer a cancel request.
    static let grace = Duration.seconds(3)
    /// The same time for a server that was found not to answer.
    private static let graceOfSilent = Duration.seconds(1)
    /// The interval at which a long wait checks whether the caller has given up.
    private static let slice = Duration.milliseconds(250)

    init(_ limit: Duration, _ cancellation: CancellationHandle) {
        self.cancellation = cancellation
        self.limit = limit
        deadline = .now + limit
    }

    enum Step {
        case wait(Duration)
        case giveUp(Reason)
    }

    /// Returns the next step while the answer is outstanding.
    mutating func next(now: ContinuousClock.Instant, canceller: Canceller) -> Step {
        if reason == nil, cancellation.isAsked {
            reason = cancellation.wish
            deadline = now + (cancellation.silence == nil ? Self.grace : Self.graceOfSilent)
        } else if reason == nil, now >= deadline {
            reason = .timedOut(after: limit)
            request = canceller.send()
            deadline = now + Self.grace
        }
        if let reason, now >= deadline { return .giveUp(reason) }
        return .wait(min(deadline - now, Self.slice))
    }

    /// The reason for which a statement was cancelled, as reported by the server; `nil` if another party cancelled it.
    var whyCancelled: Reason? { reason ?? (cancellation.isAsked ? cancellation.wish : nil) }
}

extension CancellationHandle {
    /// The reason for the request to stop.
    fileprivate var wish: Deadline.Reason { silence.map { Deadline.Reason.silent(for: $0) } ?? .cancelled }
}

/// Carries one caller's request to stop to its work, whether the work waits for a connection or runs on one.
final class CancellationHandle: Sendable {
    private struct State {
        var isAsked = false
        /// The duration of the server's silence, if that is the reason.
        var silence: Duration?
        /// Set while a session works for this caller.
        var canceller: Canceller?
        /// Whether a COMMIT is in flight, which is never interrupted, because its outcome would be unknown.
        var isShielded = false
        var request: CancelRequest?
    }

    private let state = Mutex(State())

    /// Requests that the caller's work stop.
    ///
    /// Work that has not begun will not begin, and the server interrupts running work. `silence` is the duration of the
    /// server's silence, if that is the only reason for the request.
    func ask(after silence: Duration? = nil) {
        state.withLock { state in
            guard !state.isAsked else { return }
            state.isAsked = true
            state.silence = silence
            if !state.isShielded { state.request = state.canceller?.send() }
        }
    }

    var isAsked: Bool { state.withLock { $0.isAsked } }

    /// The duration of the server's silence when the request was made; `nil` for every other reason.
    var silence: Duration? { state.withLock { $0.silence } }

    /// Records that a session starts to work for the caller; returns `false` if the caller has already given up.
    func begin(on canceller: Canceller) -> Bool {
        state.withLock { state in
            guard !state.isAsked else { return false }
            state.canceller = canceller
            return true
        }
    }

    /// Prevents interruptions until `unshield`; returns `false` if one was already requested.
    func shield() -> Bool {
        state.withLock { state in
            guard !state.isAsked else { return false }
            state.isShielded = true
            return true
        }
    }

    func unshield() { state.withLock { $0.isShielded = false } }

    /// Records the end of the session's work, after which no cancel request is sent.
    ///
    /// Returns the request that may still be in flight.
    func finish() -> CancelRequest? {
        state.withLock { state in
            state.canceller = nil
            return state.request
        }
    }
}
