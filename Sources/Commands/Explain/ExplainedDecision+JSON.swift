import BellhopRules
import CLI

extension ExplainedDecision {
    /// Returns the decision for scripts.
    ///
    /// Every member is always present, and null if it has no value.
    func json(_ rendered: (words: RenderedContent, language: LanguageTag?)) -> JSONText {
        .object([
            ("at", .text(asked.description)), ("decidedAt", .text(facts.now.description)),
            ("decidedLocal", .optional(clock.local(facts.now))),
            ("timezone", .optional(clock.zone?.name.text)),
            ("app", .text(event.app.text)), ("eventType", .text(event.type.text)), ("eventId", .text(event.id.text)),
            ("priority", .text(type.priority.rawValue)),
            ("expiresAt", .optional(facts.expiresAt?.description)),
            ("preferencesRepaired", .flag(!hadCanonicalPreferences)),
            ("inApp", .flag(decision.isRecorded)),
            ("words", decision.isRecorded ? Self.json(rendered) : .null),
            ("push", decision.push.map { .object($0.json(clock)) } ?? .null),
            ("devices", .list(facts.recipient.devices.compactMap(json))),
            ("email", decision.email.map { .object($0.json(clock)) } ?? .null),
            ("rules", RuleList(steps: steps, clock: clock, name: { $0 }).json),
        ])
    }

    private func json(_ device: Device) -> JSONText? {
        outcome(of: device).map { outcome in
            .object(
                [
                    ("device", .text(device.subscription)), ("platform", .text(device.platform.rawValue)),
                    ("provider", .text(device.provider.rawValue)),
                    ("permission", .optional(device.permission?.rawValue)),
                ] + outcome.json(clock)
            )
        }
    }

    private static func json(_ rendered: (words: RenderedContent, language: LanguageTag?)) -> JSONText {
        let (words, language) = rendered
        let link = words.link.map { link in
            JSONText.object([
                ("web", .text(link.web)), ("mobile", .text(link.mobile)), ("scheme", .optional(link.scheme)),
            ])
        }
        return .object([
            ("language", .optional(language?.text)), ("title", .text(words.title)), ("body", .text(words.body)),
            ("link", link ?? .null),
        ])
    }
}
