package import BellhopJSON
import BellhopRules
package import Store

extension DeadLetterGroups {
    package var json: JSONValue {
        .members([
            ("asOf", .string(asOf.description)), ("items", .int(items)), ("groupCount", .int(count)),
            ("groups", .array(groups.map(\.json))),
        ])
    }
}

extension DeadLetterGroup {
    fileprivate var json: JSONValue {
        .members(
            [
                ("fingerprint", .string(fingerprint)), ("items", .int(items)), ("users", .int(users)),
                ("firstSeenAt", .string(firstSeen.description)), ("lastSeenAt", .string(lastSeen.description)),
                ("stage", .string(cause.stage.rawValue)), ("reason", .string(cause.reason)),
                ("provider", .optional(cause.provider)), ("app", .optional(cause.app)),
                ("eventType", .optional(cause.eventType)), ("latestError", .string(cause.error)),
                ("lastDay", .array(lastDay.map(JSONValue.int))),
                ("advice", .string(DeadLetterAdvice.words(for: cause))),
                ("recommended", .string(DeadLetterAdvice.act(for: cause).rawValue)),
            ] + composition.members
        )
    }
}

extension DeadLetterPage {
    package var json: JSONValue {
        .members([
            ("asOf", .string(asOf.description)), ("count", .int(count)),
            ("items", .array(items.map { .members($0.members) })),
        ])
    }
}

extension AuditEntry {
    /// The members that an answer has for an entry.
    var members: [(String, JSONValue)] {
        [
            ("number", .int(number)), ("at", .string(at.description)), ("by", .string(self.operator)),
            ("login", .optional(login)),
            ("act", .string(act)),
            ("filter", .object(filter)), ("changes", .array(changes.map(JSONValue.string))), ("items", .int(items)),
            ("because", .string(because)), ("replay", replay.map { .int($0) } ?? .null),
        ]
    }
}
