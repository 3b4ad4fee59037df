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
        let isWanted = word ?? type.pushByDefault || (word == nil && type.emailByDefault)
        let outcome = listener.tell(
            .type,
            isWanted ? nil : .suppress(.typeMuted),
            "\(isWanted ? "on" : "off"), by \(word == nil ? "the app's default" : "the user's preferences")"
        )
        if let outcome { return outcome }
        guard let follow = facts.follow else { return nil }
        return listener.tell(
            .topic,
            follow.isMuted ? .suppress(.topicMuted) : nil,
            follow.isMuted ? "the user muted this topic" : "on"
        )
    }
}

/// The rules for e-mail.
///
/// E-mail is silent, so neither quiet hours nor a digest delay it.
enum EmailRules {
    static func outcome(_ facts: DecisionFacts, _ listener: inout some RuleTracer) -> Outcome {
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
