import BellhopRules
import CLI
import Store

extension Explanation {
    /// The explanation for scripts.
    ///
    /// Every member is always present, and null if it has no value.
    var json: JSONText {
        .object([
            ("found", .flag(!story.isUnknown)), ("app", .text(story.key.recipient.app.text)),
            ("user", .text(story.key.recipient.user.text)), ("notificationId", .text(story.key.notification.text)),
            ("eventId", .optional(story.event?.text)), ("at", .text(now.description)),
            ("timezone", .optional(clock.zone?.name.text)), ("answer", .list(answer.map(JSONText.text))),
            ("notification", story.record.map(Self.json) ?? .null),
            ("deliveries", .list(story.lines.map(json))),
            ("follow", story.following.map(json) ?? .null),
            ("event", story.plan.map(Self.json) ?? .null),
            ("deadLetters", .list(story.deadLetters.map(Self.json))),
            ("erasure", story.erasure.map(Self.json) ?? .null),
            ("settings", settings),
            ("timeline", .list(timeline.map(json))),
            ("now", ruling),
        ])
    }

    private static func json(_ record: NotificationHistory.Record) -> JSONText {
        let content = record.notification.content
        return .object([
            ("eventType", .text(content.type.text)), ("priority", .text(content.priority.rawValue)),
            ("title", .text(content.title)), ("collapseKey", .optional(content.extras.collapseKey)),
            ("recordedAt", .instant(record.notification.createdAt)), ("readAt", .instant(record.readAt)),
            ("expiresAt", .instant(content.extras.expiresAt)), ("supersededBy", .optional(record.successor?.id)),
        ])
    }

    private func json(_ line: DeliveryHistory) -> JSONText {
        let device = story.devices.first { $0.subscription == line.target }
        return .object([
            ("channel", .text(line.channel)), ("target", .text(line.target)),
            ("platform", .optional(device?.platform)), ("provider", .optional(device?.provider)),
            ("state", .optional(line.state?.rawValue)), ("reason", .optional(line.reason)),
            ("attempts", .number(line.attempts)), ("unknownSends", .number(line.unknownSends)),
            ("providerMessageId", .optional(line.providerMessageID)), ("dueAt", .instant(line.dueAt)),
            ("backlog", .optional(line.backlog?.name)), ("queuedAt", .instant(line.backlog?.queuedAt)),
            ("dueLocal", .optional(line.dueAt.flatMap(clock.local))), ("waitedUntil", .instant(line.waitedUntil)),
            ("digest", .instant(line.digest)), ("digestCompanions", .number(line.digestCompanions)),
            ("updatedAt", .instant(line.updatedAt)), ("words", .text(sentence(of: line))),
        ])
    }

    private func json(_ following: NotificationHistory.Following) -> JSONText {
        let follow = following.follow
        let facts = following.facts(for: story.key.recipient, with: story.settings.recipient.devices)
        return .object([
            ("topic", .text(following.topic.text)), ("follows", .flag(!facts.hasEnded)),
            ("role", .optional(facts.role?.text)), ("muted", .flag(facts.isMuted)),
            ("devices", facts.devices.map { .list($0.sorted().map(JSONText.text)) } ?? .null),
            ("since", .instant(follow?.since)), ("removedAt", .instant(follow?.removedAt)),
        ])
    }

    private static func json(_ plan: NotificationHistory.Plan) -> JSONText {
        let (audience, topic): (String?, String?) =
            switch plan.audience {
            case .named?: ("users", nil)
            case .topic(let topic)?: ("topic", topic)
            case .everyone?: ("everyone", nil)
            case nil: (nil, nil)
            }
        return .object([
            ("eventType", .optional(plan.type)), ("audience", .optional(audience)), ("topic", .optional(topic)),
            ("sentAt", .instant(plan.sentAt)), ("deliverAt", .instant(plan.deliverAt)),
            ("keptAt", .instant(plan.keptAt)), ("handedOverAt", .instant(plan.handedOverAt)),
            ("publishedAt", .instant(plan.expandedAt)), ("cancelledAt", .instant(plan.cancelledAt)),
            ("closedReason", .optional(plan.closing?.rawValue)), ("fanout", .optional(plan.fanout?.state.rawValue)),
        ])
    }

    private static func json(_ letter: DeadLetterSummary) -> JSONText {
        .object([("deadId", .text(letter.deadID))] + letter.members)
    }

    private static func json(_ erasure: NotificationHistory.Erasure) -> JSONText {
        .object([("erasedAt", .instant(erasure.erasedAt)), ("returnedAt", .instant(erasure.returnedAt))])
    }

    private var settings: JSONText {
        let recipient = story.settings.recipient
        return .object([
            ("locale", .optional(recipient.locale?.text)), ("timezone", .optional(recipient.timezone?.text)),
            ("pushEnabled", .flag(recipient.pushEnabled)), ("emailEnabled", .flag(recipient.emailEnabled)),
            ("hasEmail", .flag(recipient.email != nil)), ("hasPreferences", .flag(recipient.preferences != nil)),
            ("quietHours", quietHours.map(Self.json) ?? .null), ("changedAt", .instant(story.settings.changedAt)),
            ("preferencesChangedAt", .instant(story.settings.preferencesChangedAt)),
            ("devices", .list(story.devices.map(Self.json))),
        ])
    }

    private static func json(_ hours: QuietHours) -> JSONText {
        .object([
            ("enabled", .flag(hours.enabled)), ("startHour", .number(hours.startHour)),
            ("endHour", .number(hours.endHour)),
        ])
    }

    private static func json(_ device: KnownDevice) -> JSONText {
        .object([
            ("subscription", .text(device.subscription)), ("platform", .text(device.platform)),
            ("provider", .text(device.provider)), ("permission", .optional(device.permission)),
            ("registeredAt", .instant(device.registeredAt)), ("lastSeenAt", .instant(device.lastSeenAt)),
            ("revokedAt", .instant(device.revokedAt)), ("revokeReason", .optional(device.revokeReason)),
        ])
    }

    private func json(_ moment: Moment) -> JSONText {
        .object([
            ("at", .instant(moment.instant)), ("local", .optional(clock.local(moment.instant))),
            ("what", .text(moment.words)),
        ])
    }

    private var ruling: JSONText {
        guard case .decided(let decision, let steps) = today else { return .null }
        let devices = decision.devices.map { ruling in
            JSONText.object([("device", .text(ruling.device.subscription))] + ruling.outcome.json(clock))
        }
        return .object([
            ("inApp", .flag(decision.isRecorded)), ("push", decision.push.map { .object($0.json(clock)) } ?? .null),
            ("devices", .list(devices)), ("email", decision.email.map { .object($0.json(clock)) } ?? .null),
            ("rules", RuleList(steps: steps, clock: clock, name: { $0 }).json),
        ])
    }
}

extension JSONText {
    fileprivate static func instant(_ instant: Timestamp?) -> JSONText { .optional(instant?.description) }
}
