package import BellhopJSON
package import BellhopRules

/// The findings of the rules in their order, for people and for scripts.
package struct RuleList: Sendable {
    package let steps: [RuleStep]
    package let clock: UserClock

    package init(steps: [RuleStep], clock: UserClock) {
        self.steps = steps
        self.clock = clock
    }

    package var json: JSONValue {
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
