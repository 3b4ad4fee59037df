import BellhopRules
import CLI

/// The findings of the rules in their order, for people and for scripts.
struct RuleList {
    let steps: [RuleStep]
    let clock: UserClock
    /// Returns a device's display name, by subscription.
    let name: (String) -> String

    func write(into text: inout WrappedText) {
        var device: String?
        for step in steps {
            if let next = step.device, next != device { text.item("for \(name(next))") }
            device = step.device
            let margin = step.device == nil ? "  " : "    "
            let rule = step.rule.rawValue.filled(to: 16 - margin.count)
            text.add(margin + rule + (step.outcome?.word ?? "pass").filled(to: 8), step.finding)
        }
    }

    var json: JSONValue {
        .array(
            steps.map { step in
                let outcome =
                    step.outcome?.json(clock) ?? [
                        ("outcome", .string("pass")), ("reason", .null), ("until", .null), ("untilLocal", .null),
                    ]
                return .members(
                    [("rule", .string(step.rule.rawValue)), ("device", .optional(step.device))] + outcome
                        + [("finding", .string(step.finding))]
                )
            }
        )
    }
}
