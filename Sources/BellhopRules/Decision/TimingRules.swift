/// The rules that say when, by the user's own clock; asked once for all devices of the user.
struct TimingRules {
    /// The next digest, for what is gathered.
    private let digest: Wait?
    /// The end of the quiet that holds now.
    private let quietUntil: Timestamp?

    init(_ facts: DecisionFacts, _ listener: inout some RuleListener) {
        digest = Self.nextDigest(facts)
        quietUntil = digest == nil ? Self.quiet(facts) : nil
    }

    func outcome(_ device: Device, _ facts: DecisionFacts, _ listener: inout some RuleListener) -> Outcome {
        let id = device.subscription
        if let digest {
            let outcome = Self.outcome(of: digest, facts)
            let relation = outcome == .expire ? "too late by" : "gathered for"
            listener.hear(.digest, id, outcome, "\(relation) the digest of \(digest.until)")
            return outcome
        }
        guard let quietUntil else {
            listener.hear(.quietHours, id, .send, "not quiet")
            return .send
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
        return outcome
    }

    /// Expiry beats waiting: what would be too late by then is too late now.
    private static func outcome(of wait: Wait, _ facts: DecisionFacts) -> Outcome {
        if let expiresAt = facts.expiresAt, expiresAt <= wait.until { return .expire }
        return .wait(wait)
    }

    private static func nextDigest(_ facts: DecisionFacts) -> Wait? {
        guard facts.type.isGathered, !facts.history.isInDueDigest, let policy = facts.catalog.digest,
            let zone = facts.clock(), let schedule = LocalSchedule(at: policy.times, on: policy.days, in: zone),
            let slot = schedule.next(after: Timestamp(clamping: facts.now.microseconds + margin))
        else { return nil }
        return Wait(.digest, until: slot.instant)
    }

    /// A digest that is about to go out is closed: what came now could miss it and would make a second one.
    private static let margin: Int64 = 30_000_000

    private static func quiet(_ facts: DecisionFacts) -> Timestamp? {
        let usual = facts.catalog.settings.quietHours
        let hours = facts.recipient.preferences?.quietHours(otherwise: usual) ?? usual
        guard hours.enabled, let zone = facts.clock() else { return nil }
        return hours.until(facts.now, in: zone)
    }
}
