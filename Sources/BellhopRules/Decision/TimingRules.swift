/// The rules for the time of sending, on the user's clock; evaluated once for all devices of the user.
struct TimingRules {
    /// The next digest if the notification is gathered.
    private let digest: Wait?
    /// The end of the current quiet hours.
    private let quietUntil: Timestamp?
    /// The end of the current burst.
    private let burstUntil: Timestamp?

    init(_ facts: DecisionFacts, _ listener: inout some RuleTracer) {
        digest = Self.nextDigest(facts)
        quietUntil = digest == nil ? Self.quiet(facts) : nil
        burstUntil = digest == nil ? Self.burst(facts) : nil
    }

    func outcome(_ device: Device, _ facts: DecisionFacts, _ listener: inout some RuleTracer) -> Outcome {
        let id = device.subscription
        if let digest {
            let outcome = Self.outcome(of: digest, facts)
            let isEnough = facts.type.isGathered ? "" : "enough of low priority within an hour: "
            let relation = isEnough + (outcome == .expire ? "too late by" : "gathered for")
            listener.hear(.digest, id, outcome, "\(relation) the digest of \(digest.until)")
            return outcome
        }
        guard let quietUntil else {
            listener.hear(.quietHours, id, burstUntil == nil ? .send : nil, "not quiet")
            return afterBurst(id, facts, &listener)
        }
        let outcome: Outcome
        switch facts.type.quietHours[device.platform] {
        case .bypass: outcome = .send
        case .drop: outcome = .drop
        case .defer: outcome = Self.outcome(of: Wait(.quietHours, until: quietUntil), facts)
        }
        listener.hear(
            .quietHours,
            id,
            outcome,
            "quiet until \(quietUntil); \(device.platform.rawValue) devices: \(facts.type.quietHours[device.platform])"
        )
        return outcome == .send ? afterBurst(id, facts, &listener) : outcome
    }

    private func afterBurst(
        _ id: String,
        _ facts: DecisionFacts,
        _ listener: inout some RuleTracer
    ) -> Outcome {
        guard let burstUntil else { return .send }
        let outcome = Self.outcome(of: Wait(.burst, until: burstUntil), facts)
        listener.hear(.burst, id, outcome, "one of several, of which the newest goes out at \(burstUntil)")
        return outcome
    }

    /// Returns the end of the burst.
    ///
    /// A push joins a waiting one if there is any. Otherwise, the window begins with the latest push.
    private static func burst(_ facts: DecisionFacts) -> Timestamp? {
        guard let policy = facts.type.burst, let latest = facts.history.recent.latest else { return nil }
        if latest > facts.now { return latest }
        let end = policy.window.end(from: latest)
        return end > facts.now ? end : nil
    }

    private static func hasEnough(_ facts: DecisionFacts) -> Bool {
        guard let cap = facts.catalog.cap, facts.type.priority == .low else { return false }
        return facts.history.recent.lowPriority >= cap.perHour
    }

    /// Returns the outcome of a wait.
    ///
    /// Expiry takes precedence: a push that will have expired at the end of the wait expires now.
    private static func outcome(of wait: Wait, _ facts: DecisionFacts) -> Outcome {
        if let expiresAt = facts.expiresAt, expiresAt <= wait.until { return .expire }
        return .wait(wait)
    }

    private static func nextDigest(_ facts: DecisionFacts) -> Wait? {
        guard facts.type.isGathered || hasEnough(facts), !isInDueDigest(facts),
            let policy = facts.catalog.digest,
            let zone = facts.clock(), let schedule = LocalSchedule(at: policy.times, on: policy.days, in: zone),
            let slot = schedule.next(after: Timestamp(clamping: facts.now.microseconds + margin))
        else { return nil }
        return Wait(.digest, until: slot.instant)
    }

    /// Returns whether the digest is due.
    ///
    /// The program that releases a digest uses another clock, which may be ahead of this one.
    private static func isInDueDigest(_ facts: DecisionFacts) -> Bool {
        facts.history.digest.map { $0 <= Timestamp(clamping: facts.now.microseconds + margin) } ?? false
    }

    /// The margin before a digest, 30 seconds in microseconds.
    ///
    /// A digest that is about to be sent is closed, because a new notification could miss it and create a second one.
    private static let margin: Int64 = 30_000_000

    private static func quiet(_ facts: DecisionFacts) -> Timestamp? {
        let usual = facts.catalog.settings.quietHours
        let hours = facts.recipient.preferences?.quietHours(otherwise: usual) ?? usual
        guard hours.enabled, let zone = facts.clock() else { return nil }
        return hours.until(facts.now, in: zone)
    }
}
