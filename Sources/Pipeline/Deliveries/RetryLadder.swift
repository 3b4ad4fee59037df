import Push
import Store

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

    /// What becomes of a delivery after its provider's answer.
    ///
    /// `isLate` sends a retry one tier further than its turn: some of what failed together must, or all of it would come
    /// back together. No wait gets shorter by it.
    func disposition(of attempt: Attempt, after verdict: Verdict, isLate: Bool = false) -> Disposition {
        var disposition = next(of: attempt, after: verdict, isLate: isLate)
        if case .unknown = verdict { disposition.settlement.outcomeIsUnknown = true }
        return disposition
    }

    private func next(of attempt: Attempt, after verdict: Verdict, isLate: Bool) -> Disposition {
        let limit = attempt.limit ?? self.limit
        let reason = verdict.reason?.rawValue ?? ""
        let spent = attempt.attempts + (verdict.burnsAttempt ? 1 : 0)
        switch verdict {
        case .delivered(let id): return settled(attempt, .delivered, providerMessageID: id)
        case .accepted(let ticket): return settled(attempt, .accepted, providerMessageID: ticket)
        case .deviceGone: return settled(attempt, .failed, reason: reason)
        // Nobody can mend that for us: the address is wrong, as a device may be gone.
        case .payloadError(.mailboxUnknown): return settled(attempt, .failed, reason: reason)
        case .payloadError: return givenUp(attempt, "payload-refused", lastWord: reason)
        case .configError(_, .provider), .configError(_, .platform):
            // Breakers hold these; of one that got here the provider said so only when it had been sent.
            let reason = Hindrance.breaker.rawValue
            return postponed(attempt, Self.configurationPause, reason: reason, burnsAttempt: false)
        case .configError(_, .message), .configError(_, .device):
            // No breaker finds out when this is mended, so the attempts are counted.
            guard attempt.attempts + 1 < limit else {
                return givenUp(attempt, "attempts-exhausted", lastWord: reason)
            }
            let wait = max(Self.configurationPause, usualDelay(after: attempt.attempts + 1))
            return waiting(attempt, wait, reason: reason, burnsAttempt: true)
        case .retry(_, let notBefore, _), .unknown(_, let notBefore):
            guard spent < limit else { return givenUp(attempt, "attempts-exhausted", lastWord: reason) }
            let turn = usualDelay(after: isLate ? spent + 1 : spent)
            return waiting(attempt, max(notBefore, turn), reason: reason, burnsAttempt: verdict.burnsAttempt)
        }
    }

    /// The shortest tier that lasts at least so long; nil where only the database can wait.
    package func tier(lasting wait: Duration) -> RetryTier? {
        tiers.first { $0.delay >= wait }
    }

    /// The longest that a queue can hold a message back.
    package var longest: RetryTier? { tiers.last }

    private func settled(
        _ attempt: Attempt,
        _ state: DeliveryState,
        reason: String? = nil,
        providerMessageID: String? = nil
    ) -> Disposition {
        let settlement = Settlement(attempt.key, state, reason: reason, providerMessageID: providerMessageID)
        return Disposition(index: attempt.index, settlement)
    }

    /// Over: for the on-call engineer.
    private func givenUp(_ attempt: Attempt, _ reason: String, lastWord: String) -> Disposition {
        var disposition = settled(attempt, .failed, reason: reason)
        disposition.lastWord = lastWord
        return disposition
    }

    /// Again after the tier that fits; where none does, or by far too late, when the database says so.
    private func waiting(
        _ attempt: Attempt,
        _ wait: Duration,
        reason: String,
        burnsAttempt: Bool
    ) -> Disposition {
        guard let tier = tier(lasting: wait), tier.delay - wait <= max(Self.slack, wait / 2) else {
            return postponed(attempt, wait, reason: reason, burnsAttempt: burnsAttempt)
        }
        var disposition = postponed(attempt, tier.delay, reason: reason, burnsAttempt: burnsAttempt)
        disposition.settlement.state = .retrying
        disposition.tier = tier
        return disposition
    }

    private func postponed(
        _ attempt: Attempt,
        _ wait: Duration,
        reason: String,
        burnsAttempt: Bool
    ) -> Disposition {
        let settlement = Settlement(
            attempt.key,
            .deferred,
            reason: reason,
            burnsAttempt: burnsAttempt,
            dueIn: wait
        )
        return Disposition(index: attempt.index, settlement)
    }

    private func usualDelay(after spent: Int) -> Duration {
        guard let last = tiers.last else { return .seconds(60) }
        let position = max(0, spent - 1)
        return position < tiers.count ? tiers[position].delay : last.delay
    }

    /// By how much a retry may come later than it could: a quarter of an hour must not become an hour.
    private static let slack = Duration.seconds(60)

    /// Our keys or settings are wrong: nothing is gained by asking again at once.
    private static let configurationPause = Duration.seconds(60)
}
