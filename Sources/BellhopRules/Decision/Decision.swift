/// The result of the rules for one notification and one user: whether it is in the app, and the outcome for each device
/// and for e-mail.
///
/// The same facts give the same decision: at the first attempt, after a wait, at a retry and at a replay.
public struct Decision: Hashable, Sendable {
    /// The reason why the notification is not even kept in the app; `nil` if it is kept.
    public let absence: SuppressionReason?
    /// The rulings in the order of the devices; empty if `push` applies to all of them.
    public let devices: [DeviceDecision]
    /// The outcome for the whole channel; `nil` if each device has its own outcome.
    public let push: Outcome?
    /// The outcome for e-mail; `nil` if the type does not use it.
    public let email: Outcome?

    /// Whether the user finds the notification in the app.
    public var isRecorded: Bool { absence == nil }

    /// Evaluates the rules.
    public init(_ facts: borrowing DecisionFacts) {
        var nobody = NoTracing()
        self.init(facts, telling: &nobody)
    }

    /// Evaluates the rules and returns every rule's finding in order.
    public static func explained(_ facts: DecisionFacts) -> (decision: Decision, steps: [RuleStep]) {
        var steps = RuleTrace()
        let decision = Decision(facts, telling: &steps)
        return (decision, steps.all)
    }

    init(_ facts: borrowing DecisionFacts, telling listener: inout some RuleTracer) {
        let general = UserRules.outcome(facts, &listener)
        absence = UserRules.absence(facts, after: general)
        if let general {
            push = general
            devices = []
            email = facts.type.emailByDefault ? general : nil
            return
        }
        email = facts.type.emailByDefault ? EmailRules.outcome(facts, &listener) : nil
        push = DeviceRules.outcomeForAll(facts, &listener)
        guard push == nil else {
            devices = []
            return
        }
        let timing = TimingRules(facts, &listener)
        // A closure would copy the facts.
        var devices: [DeviceDecision] = []
        devices.reserveCapacity(facts.recipient.devices.count)
        for device in facts.recipient.devices {
            let outcome = DeviceRules.outcome(device, facts, &listener) ?? timing.outcome(device, facts, &listener)
            devices.append(DeviceDecision(device: device, outcome: outcome))
        }
        self.devices = devices
    }
}

/// The outcome for one device.
public struct DeviceDecision: Hashable, Sendable {
    /// The device.
    public let device: Device
    /// The outcome.
    public let outcome: Outcome
}

/// The possible outcomes of a notification on one channel or device; the list is complete.
public enum Outcome: Hashable, Sendable {
    /// The notification is sent now.
    case send
    /// The rules run again at a later instant, for this notification or for its digest.
    case wait(Wait)
    /// The notification falls into quiet hours, and the policy for this platform discards it.
    case drop
    /// The notification is not sent on this channel, which counts as success because it is in the app.
    case suppress(SuppressionReason)
    /// The notification has expired.
    case expire

    /// Returns the reason why the notification is not even kept in the app; `nil` if it is kept.
    func absence(_ type: CatalogType) -> SuppressionReason? {
        guard case .suppress(let reason) = self else { return nil }
        switch reason {
        case .unfollowed, .notAddressed: return reason
        case .muted, .typeMuted, .topicMuted: return type.whenMuted == .drop ? reason : nil
        case .otherDevice, .pushDisabled, .noDevice, .noPermission, .paused, .quietHours, .alreadyRead, .superseded,
            .deviceGone, .recipientErased, .unknownType, .noProvider, .emailDisabled, .notMailed, .noAddress:
            return nil
        }
    }
}

/// The reason why a push waits, and the end of the wait.
public struct Wait: Hashable, Sendable {
    /// The reason for a wait.
    public enum Reason: String, CaseIterable, Hashable, Sendable {
        /// The end of the pause that the user has set.
        case paused
        /// The end of the user's quiet hours.
        case quietHours = "quiet-hours"
        /// The user's next digest, in which it is gathered with others.
        case digest
        /// The end of a burst, at which only the newest is sent.
        case burst
    }

    /// The reason for the wait.
    public let reason: Reason
    /// The first instant at which the rules run again.
    ///
    /// For a digest, it identifies the digest, together with the user.
    public let until: Timestamp

    /// Creates a wait from a rule's finding or from stored values.
    public init(_ reason: Reason, until: Timestamp) {
        self.reason = reason
        self.until = until
    }
}
