import Push
import Store

/// Determines the next state of a delivery from a verdict and the number of earlier attempts.
package struct RetryLadder: Sendable {
    private let tiers: [RetryTier]
    private let limit: Int

    /// - Parameters:
    ///   - tiers: the delays of the retry queues; attempt n waits in the n-th tier, later attempts in the last one.
    ///   - limit: the number of attempts before a delivery is given up.
    package init(tiers: [RetryTier], limit: Int) {
        self.tiers = tiers.sorted { $0.delay < $1.delay }
        self.limit = max(1, limit)
    }

    /// Returns the disposition of a delivery after its provider's answer.
    ///
    /// `isLate` moves a retry to the next tier. Some deliveries that failed together must wait longer, because all of
    /// them would otherwise return together. It never shortens a wait.
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
        // We cannot correct that: the address is wrong, just as a device may be gone.
        case .payloadError(.mailboxUnknown): return settled(attempt, .failed, reason: reason)
        case .payloadError: return givenUp(attempt, .payloadRefused, lastWord: reason)
        case .configError(_, .provider), .configError(_, .platform):
            // Breakers hold these deliveries. This one was already sent when the provider reported the error.
            let reason = WaitReason.breaker.rawValue
            return postponed(attempt, Self.configurationPause, reason: reason, burnsAttempt: false)
        case .configError(_, .message), .configError(_, .device):
            // No breaker detects the correction of this error, so the attempts are counted.
            guard attempt.attempts + 1 < limit else {
                return givenUp(attempt, .attemptsExhausted, lastWord: reason)
            }
            let wait = max(Self.configurationPause, usualDelay(after: attempt.attempts + 1))
            return waiting(attempt, wait, reason: reason, burnsAttempt: true)
        case .retry(_, let notBefore, _), .unknown(_, let notBefore):
            guard spent < limit else { return givenUp(attempt, .attemptsExhausted, lastWord: reason) }
            let turn = usualDelay(after: isLate ? spent + 1 : spent)
            return waiting(attempt, max(notBefore, turn), reason: reason, burnsAttempt: verdict.burnsAttempt)
        }
    }

    /// Returns the shortest tier that lasts at least `wait`; `nil` if only the database can wait that long.
    package func tier(lasting wait: Duration) -> RetryTier? {
        tiers.first { $0.delay >= wait }
    }

    /// The longest tier.
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

    /// Returns a failed disposition with a dead letter for the operators.
    private func givenUp(_ attempt: Attempt, _ reason: AbandonReason, lastWord: String) -> Disposition {
        var disposition = settled(attempt, .failed, reason: reason.rawValue)
        disposition.lastWord = lastWord
        return disposition
    }

    /// Returns a retry after the tier that fits.
    ///
    /// If no tier fits, or only one that is much too long, the database schedules the retry.
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

    /// The smallest tolerated lateness of a retry.
    ///
    /// Otherwise half of its wait is tolerated: 15 minutes must not become an hour.
    private static let slack = Duration.seconds(60)

    /// After a rejection of our credentials or settings, an immediate retry is useless.
    private static let configurationPause = Duration.seconds(60)
}

/// The limits and delays for the retries and the end of deliveries.
package struct DeliveryPolicy: Sendable {
    package let ladder: RetryLadder
    /// The period for which a claim is valid; it must be longer than the longest request to a provider.
    package let lease: Duration
    /// The first half of the lease, in which a send must begin.
    ///
    /// The other half is for its answer and its settlement.
    var beginsWithin: Duration { lease / 2 }
    /// The times at which providers are polled for receipts.
    package let receipts: ReceiptPolicy

    package init(ladder: RetryLadder, lease: Duration, receipts: ReceiptPolicy = ReceiptPolicy()) {
        self.ladder = ladder
        self.lease = lease
        self.receipts = receipts
    }
}

/// The times at which a provider is polled for receipts of accepted pushes.
package struct ReceiptPolicy: Sendable {
    /// The time between the send and the first poll.
    package var firstLook: Duration
    /// The age of a send after which a missing receipt is final, because the provider has deleted it.
    package var horizon: Duration
    /// The shortest pause after a failed poll.
    package var pause: Duration

    package init(
        firstLook: Duration = .seconds(15 * 60),
        horizon: Duration = .seconds(24 * 3600),
        pause: Duration = .seconds(60)
    ) {
        self.firstLook = firstLook
        self.horizon = horizon
        self.pause = pause
    }

    /// Returns the wait before the next poll after one without a receipt; `nil` if no further poll follows.
    ///
    /// A poll follows when the time since the send has doubled: after 15 and 30 minutes, after 1, 2, 4, 8 and 16 hours,
    /// and finally at the horizon.
    func wait(atAge age: Duration) -> Duration? {
        guard age < horizon else { return nil }
        return max(firstLook, min(age, horizon - age))
    }
}
