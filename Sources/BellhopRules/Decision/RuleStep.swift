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
    /// Checks whether the user has paused notifications.
    case pause
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

/// The reason why a notification is not sent on one channel or to one device.
public enum SuppressionReason: String, CaseIterable, Hashable, Sendable {
    /// The user muted everything.
    case muted
    /// The user, or the catalogue's default, muted the type, or muted it on this channel.
    case typeMuted = "type-muted"
    /// The user muted the topic that the event was for.
    case topicMuted = "topic-muted"
    /// The user no longer follows the topic.
    case unfollowed
    /// The user follows the topic only with other devices.
    case otherDevice = "other-device"
    /// The type is for followers in another role.
    case notAddressed = "not-addressed"
    /// The user's devices may not be used.
    case pushDisabled = "push-disabled"
    /// There is no device.
    case noDevice = "no-device"
    /// The system does not allow notifications on this device.
    case noPermission = "no-permission"
    /// The user has paused notifications, and the policy for this platform discards it.
    case paused
    /// The notification falls into quiet hours, and the policy for this platform discards it.
    case quietHours = "quiet-hours"
    /// The user has since read it in the app.
    case alreadyRead = "already-read"
    /// A later one with the same collapse key has replaced it.
    case superseded
    /// The device's subscription has since ended.
    case deviceGone = "device-gone"
    /// The user has since been erased.
    case recipientErased = "recipient-erased"
    /// The catalogue no longer has the type.
    case unknownType = "unknown-type"
    /// No provider is configured for this kind of device, or the app currently does not use it.
    case noProvider = "no-provider"
    /// The user may not receive e-mail.
    case emailDisabled = "email-disabled"
    /// The event must never be sent by e-mail, such as a reminder.
    case notMailed = "not-mailed"
    /// No e-mail address is known.
    case noAddress = "no-address"
}
