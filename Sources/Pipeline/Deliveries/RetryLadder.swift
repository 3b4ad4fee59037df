package import Push

/// What follows from a verdict, given how often it was tried before.
package struct RetryLadder: Sendable {
    private let tiers: [RetryTier]
    private let limit: Int

    /// - Parameters:
    ///   - tiers: the delays that queues stand for; attempt n waits in the n-th, later ones in the last.
    ///   - limit: attempts before a delivery is given up.
    package init(tiers: [RetryTier], limit: Int) {
        self.tiers = tiers.sorted { $0.delay < $1.delay }
        self.limit = max(1, limit)
    }

    /// What to do with a delivery.
    package enum Step: Sendable, Equatable {
        /// It went out.
        case delivered(providerMessageID: String?)
        /// It was taken, and the answer comes later.
        case accepted(ticket: String)
        /// Over: this device is gone.
        case deviceGone(reason: String)
        /// Over: for the on-call engineer.
        case giveUp(reason: String, lastReason: String)
        /// Again after this tier.
        case retry(RetryTier, reason: String, burnsAttempt: Bool)
        /// Again after this time, which is longer than any tier.
        case postpone(Duration, reason: String, burnsAttempt: Bool)
    }

    /// What to do after a verdict, with so many attempts before this one; `limit` stands in for the usual one.
    ///
    /// `isLate` sends a retry one tier further than its turn: some of what failed together must, or all of it would come
    /// back together. No wait gets shorter by it.
    package func step(
        after verdict: Verdict,
        attempts: Int,
        limit: Int? = nil,
        isLate: @autoclosure () -> Bool = false
    ) -> Step {
        let limit = limit ?? self.limit
        let reason = verdict.reason?.rawValue ?? ""
        let spent = attempts + (verdict.burnsAttempt ? 1 : 0)
        switch verdict {
        case .delivered(let id): return .delivered(providerMessageID: id)
        case .accepted(let ticket): return .accepted(ticket: ticket)
        case .deviceGone: return .deviceGone(reason: reason)
        // Nobody can mend that for us: the address is wrong, as a device may be gone.
        case .payloadError(.mailboxUnknown): return .deviceGone(reason: reason)
        case .payloadError: return .giveUp(reason: "payload-refused", lastReason: reason)
        case .configError(_, .provider), .configError(_, .platform):
            // Breakers hold these; one that got here was judged by nobody and waits as they do.
            return .postpone(Self.configurationPause, reason: "breaker", burnsAttempt: false)
        case .configError(_, .message), .configError(_, .device):
            // No breaker finds out when this is mended, so the attempts are counted.
            guard attempts + 1 < limit else { return .giveUp(reason: "attempts-exhausted", lastReason: reason) }
            let wait = max(Self.configurationPause, usualDelay(after: attempts + 1))
            return self.wait(wait, reason: reason, burnsAttempt: true)
        case .retry(_, let notBefore, _), .unknown(_, let notBefore):
            guard spent < limit else { return .giveUp(reason: "attempts-exhausted", lastReason: reason) }
            let turn = usualDelay(after: isLate() ? spent + 1 : spent)
            return wait(max(notBefore, turn), reason: reason, burnsAttempt: verdict.burnsAttempt)
        }
    }

    /// For what has to wait with all that goes the same way: nothing of it counts.
    ///
    /// Work behind a breaker waits in the database, since nobody knows for how long.
    func step(after hold: Hold) -> Step {
        switch hold.cause {
        case .breaker: .postpone(hold.wait, reason: hold.cause.rawValue, burnsAttempt: false)
        case .providerRests: wait(hold.wait, reason: hold.cause.rawValue, burnsAttempt: false)
        }
    }

    /// For what could not even be started: back as soon as a tier allows.
    package func stepWhenNotStarted() -> Step {
        wait(.zero, reason: "window-full", burnsAttempt: false)
    }

    /// For what was claimed too long ago to be sent: back as soon as a tier allows, to be claimed anew.
    package func stepWhenLapsed() -> Step {
        wait(.zero, reason: "lease-over", burnsAttempt: false)
    }

    /// The shortest tier that lasts at least so long; nil where only the database can wait.
    package func tier(lasting wait: Duration) -> RetryTier? {
        tiers.first { $0.delay >= wait }
    }

    /// The longest that a queue can hold a message back.
    package var longest: RetryTier? { tiers.last }

    private func wait(_ wait: Duration, reason: String, burnsAttempt: Bool) -> Step {
        guard let tier = tier(lasting: wait) else {
            return .postpone(wait, reason: reason, burnsAttempt: burnsAttempt)
        }
        return .retry(tier, reason: reason, burnsAttempt: burnsAttempt)
    }

    private func usualDelay(after spent: Int) -> Duration {
        guard let last = tiers.last else { return .seconds(60) }
        let position = max(0, spent - 1)
        return position < tiers.count ? tiers[position].delay : last.delay
    }

    /// Our keys or settings are wrong: nothing is gained by asking again at once.
    private static let configurationPause = Duration.seconds(60)
}
