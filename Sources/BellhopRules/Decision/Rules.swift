/// The rules that apply to every channel.
enum UserRules {
    /// Returns the outcome of the first rule that rejects the notification; `nil` if none does.
    static func outcome(_ facts: DecisionFacts, _ listener: inout some RuleTracer) -> Outcome? {
        history(facts, &listener) ?? standing(facts, &listener)
    }

    /// Returns the reason why the notification is not in the app; `nil` if it is.
    ///
    /// This does not depend on the time of the decision. A notification that is too late for a push is in the app for
    /// the users in its audience, and for no others.
    static func absence(_ facts: DecisionFacts, after outcome: Outcome?) -> SuppressionReason? {
        guard let outcome else { return nil }
        var nobody = NoTracing()
        return outcome.absence(facts.type) ?? standing(facts, &nobody)?.absence(facts.type)
    }

    /// Returns the outcome of the rules about the user, which do not depend on the notification's history.
    private static func standing(_ facts: DecisionFacts, _ listener: inout some RuleTracer) -> Outcome? {
        follow(facts, &listener) ?? role(facts, &listener) ?? wish(facts, &listener)
    }

    private static func history(_ facts: DecisionFacts, _ listener: inout some RuleTracer) -> Outcome? {
        if let expiresAt = facts.expiresAt {
            let outcome = expiresAt <= facts.now ? Outcome.expire : nil
            if let outcome = listener.tell(.expiry, outcome, "expires at \(expiresAt)") { return outcome }
        }
        if facts.history.isSuperseded {
            return listener.tell(.superseded, .suppress(.superseded), "a later one with the same key is there")
        }
        if facts.history.isRead { return listener.tell(.read, .suppress(.alreadyRead), "read in the app") }
        return nil
    }

    private static func follow(_ facts: DecisionFacts, _ listener: inout some RuleTracer) -> Outcome? {
        guard let follow = facts.follow else { return nil }
        return listener.tell(
            .follow,
            follow.hasEnded ? .suppress(.unfollowed) : nil,
            follow.hasEnded ? "the user no longer follows the topic" : "the user follows the topic"
        )
    }

    private static func role(_ facts: DecisionFacts, _ listener: inout some RuleTracer) -> Outcome? {
        guard let follow = facts.follow, facts.type.roles != nil else { return nil }
        let isMeant = facts.type.reaches(follow.role)
        return listener.tell(
            .role,
            isMeant ? nil : .suppress(.notAddressed),
            "the user follows as \(follow.role?.text ?? "a plain follower")"
        )
    }

    private static func wish(_ facts: DecisionFacts, _ listener: inout some RuleTracer) -> Outcome? {
        let type = facts.type
        guard !type.isMandatory else {
            return listener.tell(.type, nil, "this type is mandatory: the user's toggles do not silence it")
        }
        let preferences = facts.recipient.preferences
        let isOn = preferences?.enabled ?? true
        if let outcome = listener.tell(
            .master,
            isOn ? nil : .suppress(.muted),
            isOn ? "on" : "the user muted everything"
        ) {
            return outcome
        }
        let word = preferences?.wants(type.type)
        let isWanted = word ?? type.pushByDefault || EmailRules.isWanted(facts)
        let outcome = listener.tell(
            .type,
            isWanted ? nil : .suppress(.typeMuted),
            "\(isWanted ? "on" : "off"), by \(author(preferences?.wantsByEmail(type.type)))"
        )
        if let outcome { return outcome }
        guard let follow = facts.follow else { return nil }
        return listener.tell(
            .topic,
            follow.isMuted ? .suppress(.topicMuted) : nil,
            follow.isMuted ? "the user muted this topic" : "on"
        )
    }

    /// Returns whose choice applies, given the user's own.
    static func author(_ choice: Bool?) -> String {
        choice == nil ? "the app's default" : "the user's preferences"
    }
}

/// The rules for e-mail.
///
/// E-mail is silent, so neither quiet hours nor a digest delay it.
enum EmailRules {
    /// Returns whether the user gets this type by e-mail, by the catalogue and the user's choices for types.
    static func isWanted(_ facts: DecisionFacts) -> Bool {
        let type = facts.type
        guard type.emailByDefault else { return false }
        return type.isMandatory || facts.recipient.preferences?.wantsByEmail(type.type) ?? true
    }

    static func outcome(_ facts: DecisionFacts, _ listener: inout some RuleTracer) -> Outcome {
        guard isWanted(facts) else {
            let outcome = Outcome.suppress(.typeMuted)
            listener.hear(.type, nil, outcome, "not mailed, by the user's preferences")
            return outcome
        }
        let outcome: Outcome
        let finding: String
        if facts.isNeverMailed {
            (outcome, finding) = (.suppress(.notMailed), "the event is never sent by e-mail")
        } else if !facts.recipient.emailEnabled {
            (outcome, finding) = (.suppress(.emailDisabled), "the user does not want e-mail")
        } else if facts.recipient.email == nil {
            (outcome, finding) = (.suppress(.noAddress), "no address is known")
        } else {
            (outcome, finding) = (.send, "allowed, and an address is known")
        }
        listener.hear(.email, nil, outcome, finding)
        return outcome
    }
}

/// The rules for the user's devices as a whole and for each device.
enum DeviceRules {
    static func outcomeForAll(_ facts: DecisionFacts, _ listener: inout some RuleTracer) -> Outcome? {
        let recipient = facts.recipient
        let word = recipient.preferences?.wants(facts.type.type)
        guard facts.type.isMandatory || word ?? facts.type.pushByDefault else {
            return listener.tell(.type, .suppress(.typeMuted), "not pushed, by \(UserRules.author(word))")
        }
        let isAllowed = recipient.pushEnabled
        let outcome = listener.tell(
            .pushEnabled,
            isAllowed ? nil : .suppress(.pushDisabled),
            isAllowed ? "on" : "push is disabled for this user"
        )
        if let outcome { return outcome }
        let count = recipient.devices.count
        return listener.tell(.devices, count == 0 ? .suppress(.noDevice) : nil, "\(count) active")
    }

    static func outcome(
        _ device: Device,
        _ facts: DecisionFacts,
        _ listener: inout some RuleTracer
    ) -> Outcome? {
        let id = device.subscription
        if let devices = facts.follow?.devices, !devices.contains(id) {
            let finding = "the user follows with other devices"
            return listener.tell(.followingDevice, device: id, .suppress(.otherDevice), finding)
        }
        if !facts.catalog.uses(device.provider) {
            let finding = "the app does not use \(device.provider.rawValue) at present"
            return listener.tell(.provider, device: id, .suppress(.noProvider), finding)
        }
        let mayShow = device.mayShow
        return listener.tell(
            .permission,
            device: id,
            mayShow ? nil : .suppress(.noPermission),
            device.permission?.rawValue ?? "not known, so the provider will tell"
        )
    }
}

extension Device {
    /// Whether the device may show notifications.
    ///
    /// If no permission was reported, the provider's answer decides.
    fileprivate var mayShow: Bool {
        switch permission {
        case nil, .granted, .provisional: true
        case .denied, .default, .undetermined: false
        }
    }
}

/// The rules for the time of sending, on the user's clock; evaluated once for all devices of the user.
struct TimingRules {
    /// The next digest if the notification is gathered.
    private let digest: Wait?
    /// The end of the user's pause.
    private let pausedUntil: Timestamp?
    /// The end of the current quiet hours.
    private let quietUntil: Timestamp?
    /// The end of the current burst.
    private let burstUntil: Timestamp?

    init(_ facts: borrowing DecisionFacts, _ listener: inout some RuleTracer) {
        digest = Self.nextDigest(facts)
        pausedUntil = digest == nil ? Self.pause(facts) : nil
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
        if let pausedUntil, let outcome = paused(until: pausedUntil, device, facts, &listener) { return outcome }
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

    /// Returns the outcome of the user's pause; `nil` if the type's policy for quiet hours sends the push.
    private func paused(
        until end: Timestamp,
        _ device: Device,
        _ facts: DecisionFacts,
        _ listener: inout some RuleTracer
    ) -> Outcome? {
        let policy = facts.type.quietHours[device.platform]
        let outcome: Outcome? =
            switch policy {
            case .bypass: nil
            case .drop: .suppress(.paused)
            case .defer: Self.outcome(of: Wait(.paused, until: end), facts)
            }
        return listener.tell(
            .pause,
            device: device.subscription,
            outcome,
            "paused until \(end); \(device.platform.rawValue) devices: \(policy)"
        )
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

    private static func pause(_ facts: DecisionFacts) -> Timestamp? {
        guard let end = facts.recipient.preferences?.pausedUntil, end > facts.now else { return nil }
        return end
    }

    private static func quiet(_ facts: DecisionFacts) -> Timestamp? {
        let usual = facts.catalog.settings.quietHours
        let hours = facts.recipient.preferences?.quietHours(otherwise: usual) ?? usual
        guard hours.enabled, let zone = facts.clock() else { return nil }
        return hours.until(facts.now, in: zone)
    }
}
