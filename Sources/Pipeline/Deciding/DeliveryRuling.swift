import BellhopRules
import Push
import Store

/// The ruling on one delivery, new or resumed, by the rules and by the providers that are configured here.
enum DeliveryRuling: Sendable {
    case send(Route)
    case withhold(Withholding)

    /// The channel through which a delivery is sent.
    enum Route: Sendable {
        case push(Device)
        case mail(to: EmailAddress, in: LanguageTag)
    }

    /// The reason why a delivery is not sent now.
    enum Withholding: Sendable {
        /// The rules run again when the wait is over.
        case wait(Wait)
        case suppress(SuppressionReason)
        case expire
    }
}

extension Decider {
    /// Rules on the push to a device; `nil` stands for all devices of the user.
    func ruling(_ outcome: Outcome, to device: Device?, of app: AppID) -> DeliveryRuling {
        switch outcome {
        case .send:
            guard let device else { return .withhold(.suppress(.deviceGone)) }
            guard outlets.contains(OutletKey(app: app, provider: device.provider)) else {
                return .withhold(.suppress(.noProvider))
            }
            return .send(.push(device))
        case .wait(let wait): return .withhold(.wait(wait))
        case .drop: return .withhold(.suppress(.quietHours))
        case .suppress(let reason): return .withhold(.suppress(reason))
        case .expire: return .withhold(.expire)
        }
    }

    /// Rules on the mail to the user.
    func mailRuling(_ outcome: Outcome?, _ facts: DecisionFacts) -> DeliveryRuling {
        switch outcome {
        case .send?:
            guard outlets.contains(.email(of: facts.catalog.app)) else { return .withhold(.suppress(.noProvider)) }
            guard let address = facts.recipient.email else { return .withhold(.suppress(.noAddress)) }
            let language = facts.recipient.locale.flatMap { facts.catalog.language(of: facts.type.type, for: $0) }
            return .send(.mail(to: address, in: language ?? facts.catalog.language))
        // A mail waits only for the conditions that affect everything, and those end in the other cases.
        case .drop?, .wait?, nil: return .withhold(.suppress(.emailDisabled))
        case .suppress(let reason)?: return .withhold(.suppress(reason))
        case .expire?: return .withhold(.expire)
        }
    }
}

extension Decision {
    /// Returns the outcome of a delivery that exists already, with its device.
    func outcome(of key: DeliveryKey) -> (outcome: Outcome, device: Device?) {
        guard key.channel == .push else { return (email ?? .suppress(.emailDisabled), nil) }
        let device = devices.first { $0.device.subscription == key.target }
        return (push ?? device?.outcome ?? .suppress(.deviceGone), device?.device)
    }
}

extension NewDelivery {
    /// Creates the first row of a delivery.
    init(_ ruling: DeliveryRuling, to target: String) {
        switch ruling {
        case .send(.push): self = .sending(to: target)
        case .send(.mail): self = .sending(to: target, by: .email)
        case .withhold(.wait(let wait)): self = .deferred(to: target, wait)
        case .withhold(.suppress(let reason)): self = .suppressed(reason, target: target)
        case .withhold(.expire): self = .expired(target: target)
        }
    }
}

extension Settlement {
    /// Creates the settlement of a resumed delivery that is not sent now.
    init(_ withholding: DeliveryRuling.Withholding, of claimed: ClaimedDelivery, at now: Timestamp) {
        switch withholding {
        case .wait(let wait):
            let left = Duration.microseconds(max(0, wait.until.microseconds - now.microseconds))
            self.init(claimed.key, .deferred, reason: wait.reason.rawValue, burnsAttempt: false, dueIn: left)
            self.wait = wait
        case .suppress(let reason):
            self.init(claimed.key, .suppressed, reason: reason.rawValue, burnsAttempt: false)
        case .expire:
            let reason = claimed.wasHeld ? "expired-while-held" : "expired-while-waiting"
            self.init(claimed.key, .expired, reason: reason, burnsAttempt: false)
        }
    }
}
