import BellhopRules
import CLI
import Operations

extension ExplainedDecision {
    /// Returns the decision for scripts.
    ///
    /// Every member is always present, and null if it has no value.
    func json(_ rendered: (words: RenderedContent, language: LanguageTag?)) -> JSONValue {
        .members([
            ("at", .string(asked.description)), ("decidedAt", .string(facts.now.description)),
            ("decidedLocal", .optional(clock.local(facts.now))),
            ("timezone", .optional(clock.zone?.name.text)),
            ("app", .string(event.app.text)), ("eventType", .string(event.type.text)),
            ("eventId", .string(event.id.text)),
            ("priority", .string(type.priority.rawValue)),
            ("expiresAt", .optional(facts.expiresAt?.description)),
            ("preferencesRepaired", .bool(!hadCanonicalPreferences)),
            ("inApp", .bool(decision.isRecorded)),
            ("words", decision.isRecorded ? Self.json(rendered) : .null),
            ("push", decision.push.map { .members($0.json(clock)) } ?? .null),
            ("devices", .array(facts.recipient.devices.compactMap(json))),
            ("email", decision.email.map { .members($0.json(clock)) } ?? .null),
            ("rules", RuleList(steps: steps, clock: clock).json),
        ])
    }

    private func json(_ device: Device) -> JSONValue? {
        outcome(of: device).map { outcome in
            .members(
                [
                    ("device", .string(device.subscription)), ("platform", .string(device.platform.rawValue)),
                    ("provider", .string(device.provider.rawValue)),
                    ("permission", .optional(device.permission?.rawValue)),
                ] + outcome.json(clock)
            )
        }
    }

    private static func json(_ rendered: (words: RenderedContent, language: LanguageTag?)) -> JSONValue {
        let (words, language) = rendered
        let link = words.link.map { link in
            JSONValue.members([
                ("web", .string(link.web)), ("mobile", .string(link.mobile)), ("scheme", .optional(link.scheme)),
            ])
        }
        return .members([
            ("language", .optional(language?.text)), ("title", .string(words.title)), ("body", .string(words.body)),
            ("link", link ?? .null),
        ])
    }
}
