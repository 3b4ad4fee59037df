package import BellhopJSON
import BellhopRules
import Store

extension Explanation {
    /// The explanation for scripts.
    ///
    /// Every member is always present, and null if it has no value.
    package var json: JSONValue {
        .members([
            ("found", .bool(!story.isUnknown)), ("app", .string(story.key.recipient.app.text)),
            ("user", .string(story.key.recipient.user.text)), ("notificationId", .string(story.key.notification.text)),
            ("eventId", .optional(story.event?.text)), ("at", .string(now.description)),
            ("timezone", .optional(clock.zone?.name.text)), ("answer", .array(answer.map(JSONValue.string))),
            ("notification", story.record.map(Self.json) ?? .null),
            ("deliveries", .array(story.lines.map(json))),
            ("follow", story.following.map(json) ?? .null),
            ("event", story.plan.map(Self.json) ?? .null),
            ("deadLetters", .array(story.deadLetters.map(Self.json))),
            ("erasure", story.erasure.map(Self.json) ?? .null),
            ("userKnown", .bool(!isUserUnknown)), ("settings", settings),
            ("timeline", .array(timeline.map(json))),
            ("now", ruling),
        ])
    }

    private static func json(_ record: NotificationHistory.Record) -> JSONValue {
        let content = record.notification.content
        return .members([
            ("eventType", .string(content.type.text)), ("priority", .string(content.priority.rawValue)),
            ("title", .string(content.title)), ("collapseKey", .optional(content.collapseKey)),
            ("recordedAt", .instant(record.notification.createdAt)), ("readAt", .instant(record.readAt)),
            ("expiresAt", .instant(content.expiresAt)), ("supersededBy", .optional(record.successor?.id)),
        ])
    }

    func json(_ line: DeliveryHistory) -> JSONValue {
        let device = story.devices.first { $0.subscription == line.target }
        return .members([
            ("channel", .string(line.channel)), ("target", .string(line.target)),
            ("platform", .optional(device?.platform)), ("provider", .optional(device?.provider)),
            ("state", .optional(line.state?.rawValue)), ("reason", .optional(line.reason)),
            ("attempts", .int(line.attempts)), ("unknownSends", .int(line.unknownSends)),
            ("providerMessageId", .optional(line.providerMessageID)), ("dueAt", .instant(line.dueAt)),
            ("backlog", .optional(line.backlog?.name)), ("queuedAt", .instant(line.backlog?.queuedAt)),
            ("dueLocal", .optional(line.dueAt.flatMap(clock.local))), ("waitedUntil", .instant(line.waitedUntil)),
            ("digest", .instant(line.digest)), ("digestCompanions", .int(line.digestCompanions)),
            ("updatedAt", .instant(line.updatedAt)), ("words", .string(sentence(of: line))),
        ])
    }

    private func json(_ following: NotificationHistory.Following) -> JSONValue {
        let follow = following.follow
        let facts = following.facts(for: story.key.recipient, with: story.settings.recipient.devices)
        return .members([
            ("topic", .string(following.topic.text)), ("follows", .bool(!facts.hasEnded)),
            ("role", .optional(facts.role?.text)), ("muted", .bool(facts.isMuted)),
            ("devices", facts.devices.map { .array($0.sorted().map(JSONValue.string)) } ?? .null),
            ("since", .instant(follow?.since)), ("removedAt", .instant(follow?.removedAt)),
        ])
    }

    private static func json(_ plan: NotificationHistory.Plan) -> JSONValue {
        let (audience, topic): (String?, String?) =
            switch plan.audience {
            case .named?: ("users", nil)
            case .topic(let topic)?: ("topic", topic)
            case .everyone?: ("everyone", nil)
            case nil: (nil, nil)
            }
        return .members([
            ("eventType", .optional(plan.type)), ("audience", .optional(audience)), ("topic", .optional(topic)),
            ("sentAt", .instant(plan.sentAt)), ("deliverAt", .instant(plan.deliverAt)),
            ("keptAt", .instant(plan.keptAt)), ("handedOverAt", .instant(plan.handedOverAt)),
            ("publishedAt", .instant(plan.expandedAt)), ("cancelledAt", .instant(plan.cancelledAt)),
            ("closedReason", .optional(plan.closing?.rawValue)), ("fanout", .optional(plan.fanout?.state.rawValue)),
        ])
    }

    static func json(_ letter: DeadLetterSummary) -> JSONValue {
        .members([("deadId", .string(letter.deadID))] + letter.members)
    }

    static func json(_ erasure: NotificationHistory.Erasure) -> JSONValue {
        .members([("erasedAt", .instant(erasure.erasedAt)), ("returnedAt", .instant(erasure.returnedAt))])
    }

    var settings: JSONValue {
        let recipient = story.settings.recipient
        return .members([
            ("locale", .optional(recipient.locale?.text)), ("timezone", .optional(recipient.timezone?.text)),
            ("pushEnabled", .bool(recipient.pushEnabled)), ("emailEnabled", .bool(recipient.emailEnabled)),
            ("hasEmail", .bool(recipient.email != nil)), ("hasPreferences", .bool(recipient.preferences != nil)),
            ("types", .string(typeChoices)),
            ("quietHours", quietHours.map(Self.json) ?? .null), ("pausedUntil", .instant(pausedUntil)),
            ("pausedUntilLocal", .optional(pausedUntil.flatMap(clock.local))),
            ("changedAt", .instant(story.settings.changedAt)),
            ("preferencesChangedAt", .instant(story.settings.preferencesChangedAt)),
            ("devices", .array(story.devices.map(Self.json))),
        ])
    }

    private static func json(_ hours: QuietHours) -> JSONValue {
        .members([
            ("enabled", .bool(hours.enabled)), ("startHour", .int(hours.startHour)),
            ("endHour", .int(hours.endHour)),
        ])
    }

    private static func json(_ device: KnownDevice) -> JSONValue {
        .members([
            ("subscription", .string(device.subscription)), ("platform", .string(device.platform)),
            ("provider", .string(device.provider)), ("permission", .optional(device.permission)),
            ("registeredAt", .instant(device.registeredAt)), ("lastSeenAt", .instant(device.lastSeenAt)),
            ("revokedAt", .instant(device.revokedAt)), ("revokeReason", .optional(device.revokeReason)),
        ])
    }

    private func json(_ moment: Moment) -> JSONValue {
        .members([
            ("at", .instant(moment.instant)), ("local", .optional(clock.local(moment.instant))),
            ("what", .string(moment.words)),
        ])
    }

    private var ruling: JSONValue {
        guard case .decided(let decision, let steps) = today else { return .null }
        let devices = decision.devices.map { ruling in
            JSONValue.members([("device", .string(ruling.device.subscription))] + ruling.outcome.json(clock))
        }
        return .members([
            ("inApp", .bool(decision.isRecorded)), ("push", decision.push.map { .members($0.json(clock)) } ?? .null),
            ("devices", .array(devices)), ("email", decision.email.map { .members($0.json(clock)) } ?? .null),
            ("rules", RuleList(steps: steps, clock: clock).json),
        ])
    }
}

extension JSONValue {
    fileprivate static func instant(_ instant: Timestamp?) -> JSONValue { .optional(instant?.description) }
}
