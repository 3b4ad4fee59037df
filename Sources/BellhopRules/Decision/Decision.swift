/// What the rules say of one notification for one user: whether it is in the app, and what becomes of each device and
/// of e-mail.
///
/// The same facts give the same decision, at the first attempt, after a wait, at a retry and at a replay.
public struct Decision: Hashable, Sendable {
    /// Why nothing of it is kept, not even in the app; nil where the user finds it there.
    public let absence: SuppressionReason?
    /// What becomes of each device, in the order of the devices; empty where `push` holds for all of them.
    public let devices: [DeviceRuling]
    /// What holds for the channel as a whole; nil where each device has an answer of its own.
    public let push: Outcome?
    /// What becomes of e-mail; nil where the type does not use it.
    public let email: Outcome?

    /// Whether the user finds it in the app.
    public var isRecorded: Bool { absence == nil }

    /// Decides.
    public init(_ facts: DecisionFacts) {
        var nobody = NobodyListens()
        self.init(facts, telling: &nobody)
    }

    /// Decides, and tells every rule's finding in order.
    public static func explained(_ facts: DecisionFacts) -> (decision: Decision, steps: [RuleStep]) {
        var steps = RuleSteps()
        let decision = Decision(facts, telling: &steps)
        return (decision, steps.all)
    }

    init(_ facts: DecisionFacts, telling listener: inout some RuleListener) {
        let general = GeneralRules.outcome(facts, &listener)
        absence = GeneralRules.absence(facts, after: general)
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
        devices = facts.recipient.devices.map { device in
            DeviceRuling(
                device: device,
                outcome: DeviceRules.outcome(device, facts, &listener) ?? timing.outcome(device, facts, &listener)
            )
        }
    }
}

/// What becomes of one device.
public struct DeviceRuling: Hashable, Sendable {
    /// The device.
    public let device: Device
    /// What becomes of it.
    public let outcome: Outcome
}

/// What can become of a notification on one way to its user; there is nothing else.
public enum Outcome: Hashable, Sendable {
    /// It goes out now.
    case send
    /// It is decided anew at a later instant, by itself or in a digest.
    case wait(Wait)
    /// It fell into quiet hours that it does not survive on this kind of device.
    case drop
    /// It does not go out this way, which is success: the notification is in the app.
    case suppress(SuppressionReason)
    /// It is too late.
    case expire
}

extension Outcome {
    /// Why nothing of the notification is kept, not even in the app; nil where it is.
    func absence(_ type: CatalogType) -> SuppressionReason? {
        guard case .suppress(let reason) = self else { return nil }
        switch reason {
        case .unfollowed, .notAddressed: return reason
        case .muted, .typeMuted, .topicMuted: return type.whenMuted == .drop ? reason : nil
        default: return nil
        }
    }
}
