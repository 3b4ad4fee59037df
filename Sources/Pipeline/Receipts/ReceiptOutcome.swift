import BellhopRules
import Push
import Store

/// What a provider's later answer means for a delivery that it had accepted.
enum ReceiptOutcome: Sendable {
    /// It is settled, with what has to follow.
    case settled(DeliveryOutcome)
    /// It stays accepted, and is asked about again.
    case later(Settlement)

    /// What a type's catalogue and the policy say about it.
    struct Rules: Sendable {
        let ladder: RetryLadder
        let policy: ReceiptPolicy
        /// After how many attempts its type gives it up; nil for the usual limit.
        var retryLimit: Int?
        var provider: PushProvider
        /// Whether a device that is gone is revoked: not where they die in masses.
        var revokes = true
    }

    /// `index` is the position of the broker's message in its batch.
    init(_ receipt: OpenReceipt, _ answer: ReceiptAnswer, index: Int, _ rules: Rules) {
        let wait: Duration?
        switch answer {
        case .known(let verdict):
            self = .settled(DeliveryOutcome(receipt, verdict, index: index, rules))
            return
        case .missing: wait = rules.policy.wait(atAge: receipt.age)
        // The provider may have known; it keeps its answers no longer than the horizon either way.
        case .unanswered(_, let notBefore):
            wait = rules.policy.wait(atAge: receipt.age).map { _ in max(notBefore, rules.policy.pause) }
        }
        guard let wait else {
            let lost = Settlement(receipt.key, .unknown, reason: Self.missing, burnsAttempt: false)
            self = .settled(DeliveryOutcome(index: index, lost))
            return
        }
        self = .later(Settlement(receipt.key, .accepted, burnsAttempt: false, dueIn: wait))
    }

    /// Reason of a delivery whose receipt never came: it is not sent again, since it probably arrived.
    static let missing = "receipt-missing"
}

extension DeliveryOutcome {
    /// The attempt was counted when the provider took it, so that no verdict burns another.
    fileprivate init(_ receipt: OpenReceipt, _ verdict: Verdict, index: Int, _ rules: ReceiptOutcome.Rules) {
        let key = receipt.key
        let step = rules.ladder.step(
            after: verdict,
            attempts: receipt.attempts - (verdict.burnsAttempt ? 1 : 0),
            limit: rules.retryLimit
        )
        switch step {
        case .delivered, .accepted: self.init(index: index, Settlement(key, .delivered, burnsAttempt: false))
        case .deviceGone(let reason):
            self.init(index: index, Settlement(key, .failed, reason: reason, burnsAttempt: false))
            if rules.revokes { deadDevice = DeadDevice(receipt, reason: reason) }
        case .giveUp(let reason, let lastReason):
            self.init(index: index, Settlement(key, .failed, reason: reason, burnsAttempt: false))
            loss = Loss(
                fault: Fault(receipt, rules.provider, reason: reason, lastReason: lastReason),
                key: key,
                attempts: receipt.attempts
            )
        case .retry(let tier, let reason, _):
            let waiting = Settlement(key, .retrying, reason: reason, burnsAttempt: false, dueIn: tier.delay)
            self.init(index: index, waiting)
            self.tier = tier
        case .postpone(let wait, let reason, _):
            let waiting = Settlement(key, .deferred, reason: reason, burnsAttempt: false, dueIn: wait)
            self.init(index: index, waiting)
        }
    }
}

extension DeadDevice {
    /// The token that was sent to is the current one unless that was registered after the send, and then it lives.
    fileprivate init?(_ receipt: OpenReceipt, reason: String) {
        guard let token = receipt.token else { return nil }
        self.init(
            recipient: receipt.key.notification.recipient,
            subscription: receipt.key.target,
            token: token,
            reason: reason,
            deadSince: receipt.sentAt
        )
    }
}

extension Fault {
    /// A delivery that was given up after its provider had taken it.
    fileprivate init(_ receipt: OpenReceipt, _ provider: PushProvider, reason: String, lastReason: String) {
        self.init(.receipt, reason: reason, error: "\(provider.rawValue) said \(lastReason)")
        app = receipt.key.notification.recipient.app.text
        user = receipt.key.notification.recipient.user.text
        eventID = receipt.origin?.event.text
        eventType = receipt.origin?.type.text
        self.provider = provider.rawValue
    }
}
