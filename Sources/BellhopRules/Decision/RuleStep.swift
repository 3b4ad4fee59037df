/// A rule, in the order of evaluation.
public enum Rule: String, CaseIterable, Hashable, Sendable {
    /// Checks whether the notification has expired.
    case expiry
    /// Checks whether a later notification has replaced it.
    case superseded
    /// Checks whether the user has read it.
    case read
    /// Checks whether the user still follows the topic.
    case follow
    /// Checks whether it is for the user's role.
    case role
    /// Checks whether the user wants notifications.
    case master
    /// Checks whether the user wants this type.
    case type
    /// Checks whether the user wants this topic.
    case topic
    /// Checks whether the user may receive e-mail, and whether an address is known.
    case email
    /// Checks whether the user's devices may be used.
    case pushEnabled = "push-enabled"
    /// Checks whether there is a device.
    case devices
    /// Checks whether this device follows the topic.
    case followingDevice = "following-device"
    /// Checks whether the app reaches its devices through this provider.
    case provider
    /// Checks whether this device may show notifications.
    case permission
    /// Checks whether it is gathered for a digest, or whether the user's cap for low priority is reached.
    case digest
    /// Checks whether it falls into the user's quiet hours.
    case quietHours = "quiet-hours"
    /// Checks whether it is one of several within a short time.
    case burst
}

/// The finding of one rule.
public struct RuleStep: Hashable, Sendable {
    /// The rule.
    public let rule: Rule
    /// The subscription to which the rule was applied; `nil` if it was applied once for all.
    public let device: String?
    /// The finding as text for operators.
    public let finding: String
    /// The outcome that the rule decided; `nil` if the next rule decides.
    public let outcome: Outcome?
}

/// Receives the findings of the rules during the evaluation.
protocol RuleTracer {
    mutating func hear(_ rule: Rule, _ device: String?, _ outcome: Outcome?, _ finding: @autoclosure () -> String)
}

extension RuleTracer {
    /// Reports a rule's finding and returns its outcome.
    mutating func tell(
        _ rule: Rule,
        device: String? = nil,
        _ outcome: Outcome?,
        _ finding: @autoclosure () -> String
    ) -> Outcome? {
        hear(rule, device, outcome, finding())
        return outcome
    }
}

/// Ignores all findings, for the hot path: nothing is recorded and no text is created.
struct NoTracing: RuleTracer {
    mutating func hear(_: Rule, _: String?, _: Outcome?, _: @autoclosure () -> String) {}
}

/// Records the findings of the rules.
struct RuleTrace: RuleTracer {
    private(set) var all: [RuleStep] = []

    mutating func hear(_ rule: Rule, _ device: String?, _ outcome: Outcome?, _ finding: @autoclosure () -> String) {
        all.append(RuleStep(rule: rule, device: device, finding: finding(), outcome: outcome))
    }
}
