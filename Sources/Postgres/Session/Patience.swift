/// The time limit of one exchange with the server, and its possible interruption.
///
/// When the time ends, the server is asked to cancel and gets a grace period to answer, because only its answer shows
/// whether the statement took effect.
struct Patience {
    private let interruption: Interruption
    private let limit: Duration
    private var deadline: ContinuousClock.Instant
    /// The reason for which the server was asked to stop.
    private(set) var reason: Reason?
    /// The cancel request that the time limit caused; the interruption holds the caller's request.
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

    init(_ limit: Duration, _ interruption: Interruption) {
        self.interruption = interruption
        self.limit = limit
        deadline = .now + limit
    }

    enum Verdict {
        case wait(Duration)
        case giveUp(Reason)
    }

    /// Returns the next step while the answer is outstanding.
    mutating func next(now: ContinuousClock.Instant, canceller: Canceller) -> Verdict {
        if reason == nil, interruption.isAsked {
            reason = interruption.wish
            deadline = now + (interruption.silence == nil ? Self.grace : Self.graceOfSilent)
        } else if reason == nil, now >= deadline {
            reason = .timedOut(after: limit)
            request = canceller.send()
            deadline = now + Self.grace
        }
        if let reason, now >= deadline { return .giveUp(reason) }
        return .wait(min(deadline - now, Self.slice))
    }

    /// The reason for which a statement was cancelled, as reported by the server; `nil` if another party cancelled it.
    var whyCancelled: Reason? {
        reason ?? (interruption.isAsked ? interruption.wish : nil)
    }
}

extension Interruption {
    /// The reason for the request to stop.
    fileprivate var wish: Patience.Reason { silence.map { Patience.Reason.silent(for: $0) } ?? .cancelled }
}
