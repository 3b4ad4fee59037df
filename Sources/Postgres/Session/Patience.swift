/// How long one exchange with the server may take, and who may cut it short.
///
/// When time is up the server is asked to cancel and gets a last grace to answer: only its answer tells whether the
/// statement happened.
struct Patience {
    private let interruption: Interruption
    private let limit: Duration
    private var deadline: ContinuousClock.Instant
    /// Why the server has been asked to stop.
    private(set) var reason: Reason?
    /// The request that ran out of time caused; the caller's own is with the interruption.
    private(set) var request: CancelRequest?

    enum Reason {
        case cancelled
        case timedOut(after: Duration)
        /// It does not answer new connections either.
        case silent(for: Duration)
    }

    /// What the server gets to answer a cancel request.
    static let grace = Duration.seconds(3)
    /// The same, where it has been found not to answer anything.
    private static let graceOfSilent = Duration.seconds(1)
    /// How often a long wait looks whether the caller has given up.
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

    /// What to do while the answer is outstanding.
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

    /// Why a statement that the server reports as cancelled was cancelled; nil if by someone else.
    var whyCancelled: Reason? {
        reason ?? (interruption.isAsked ? interruption.wish : nil)
    }
}

extension Interruption {
    /// Why somebody has asked to stop.
    fileprivate var wish: Patience.Reason { silence.map { Patience.Reason.silent(for: $0) } ?? .cancelled }
}
