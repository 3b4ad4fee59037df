/// A rule, in the order in which the rules are asked.
public enum Rule: String, CaseIterable, Hashable, Sendable {
    /// Is it too late?
    case expiry
    /// Has a later one taken its place?
    case superseded
    /// Has the user read it?
    case read
    /// Does the user follow the topic still?
    case follow
    /// Is it for the user's role?
    case role
    /// Does the user want notifications at all?
    case master
    /// Does the user want this type?
    case type
    /// Does the user want this topic?
    case topic
    /// May the user be mailed, and where?
    case email
    /// May the user's devices be used?
    case pushEnabled = "push-enabled"
    /// Is there a device?
    case devices
    /// Does this device follow the topic?
    case followingDevice = "following-device"
    /// Does the app reach its devices through this provider?
    case provider
    /// May this device show anything?
    case permission
    /// Is it gathered for a digest, or has the user got enough of its kind for now?
    case digest
    /// Does the user want to be left alone now?
    case quietHours = "quiet-hours"
    /// Is it one of several within a short time?
    case burst
}

/// What one rule found.
public struct RuleStep: Hashable, Sendable {
    /// The rule.
    public let rule: Rule
    /// The subscription that it was asked for; nil where it was asked once for all.
    public let device: String?
    /// What it saw, in words for a person.
    public let finding: String
    /// What it decided; nil where it passed the question on.
    public let outcome: Outcome?
}

/// Hears what the rules find while they decide.
protocol RuleListener {
    mutating func hear(_ rule: Rule, _ device: String?, _ outcome: Outcome?, _ finding: @autoclosure () -> String)
}

extension RuleListener {
    /// Tells what a rule found and gives its outcome back.
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

/// The hot path: nothing is written down, and no words are made.
struct NobodyListens: RuleListener {
    mutating func hear(_: Rule, _: String?, _: Outcome?, _: @autoclosure () -> String) {}
}

/// Writes down what the rules find.
struct RuleSteps: RuleListener {
    private(set) var all: [RuleStep] = []

    mutating func hear(_ rule: Rule, _ device: String?, _ outcome: Outcome?, _ finding: @autoclosure () -> String) {
        all.append(RuleStep(rule: rule, device: device, finding: finding(), outcome: outcome))
    }
}
