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
        /// Whether devices die in masses: then none that is gone is believed to be.
        var isMassDeath = false
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
        switch Self.step(receipt, verdict, rules) {
        case .delivered, .accepted: self.init(index: index, Settlement(key, .delivered, burnsAttempt: false))
        case .deviceGone(let reason):
            self.init(index: index, Settlement(key, .failed, reason: reason, burnsAttempt: false))
            deadDevice = DeadDevice(receipt, reason: reason)
        case .giveUp(let reason, let lastReason):
            self.init(index: index, Settlement(key, .failed, reason: reason, burnsAttempt: false))
            loss = Loss(
                cause: DeadLetterCause(receipt, rules.provider, reason: reason, lastReason: lastReason),
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

extension DeliveryOutcome {
    /// What to do with a delivery; one that is held for a fault of ours has an end too.
    private static func step(
        _ receipt: OpenReceipt,
        _ verdict: Verdict,
        _ rules: ReceiptOutcome.Rules
    ) -> RetryLadder.Step {
        guard let fault = rules.ownFault(in: verdict) else {
            let before = receipt.attempts - (verdict.burnsAttempt ? 1 : 0)
            return rules.ladder.step(after: verdict, attempts: before, limit: rules.retryLimit)
        }
        // It would be taken again at once, and refused again by its receipt: only the attempts come to an end.
        let counted = rules.ladder.step(
            after: .configError(fault, scope: .message),
            attempts: receipt.attempts - 1,
            limit: rules.retryLimit
        )
        if case .giveUp = counted { return counted }
        return rules.ladder.step(after: .configError(fault, scope: .provider), attempts: receipt.attempts)
    }
}

extension ReceiptOutcome.Rules {
    /// What the provider said where the fault is ours and not the message's: it waits until that is mended.
    fileprivate func ownFault(in verdict: Verdict) -> VerdictReason? {
        if case .deviceGone(let reason, _) = verdict, isMassDeath { return reason }
        return verdict.refusal
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

extension DeadLetterCause {
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
