import BellhopRules
import Push
import Store

/// What a type's catalogue and the policy say about answers that come later.
struct ReceiptRules: Sendable {
    let ladder: RetryLadder
    let policy: ReceiptPolicy
    /// After how many attempts its type gives it up; nil for the usual limit.
    var retryLimit: Int?
    var provider: PushProvider
    /// Whether devices die in masses: then none that is gone is believed to be.
    var isMassDeath = false

    /// Reason of a delivery whose receipt never came: it is not sent again, since it probably arrived.
    static let missing = "receipt-missing"
}

extension Disposition {
    /// What becomes of a delivery that its provider had taken; `accepted` where it is asked about again.
    ///
    /// `index` is the position of the broker's message in its batch.
    init(_ receipt: OpenReceipt, _ answer: ReceiptAnswer, index: Int, _ rules: ReceiptRules) {
        let wait: Duration?
        switch answer {
        case .known(let verdict):
            self = Self.settled(receipt, verdict, index, rules)
            return
        case .missing: wait = rules.policy.wait(atAge: receipt.age)
        // The provider may have known; it keeps its answers no longer than the horizon either way.
        case .unanswered(_, let notBefore):
            wait = rules.policy.wait(atAge: receipt.age).map { _ in max(notBefore, rules.policy.pause) }
        }
        if let wait {
            self.init(index: index, Settlement(receipt.key, .accepted, burnsAttempt: false, dueIn: wait))
        } else {
            let lost = Settlement(receipt.key, .unknown, reason: ReceiptRules.missing, burnsAttempt: false)
            self.init(index: index, lost)
        }
    }

    /// The attempt was counted when the provider took it, so that no verdict burns another.
    private static func settled(
        _ receipt: OpenReceipt,
        _ verdict: Verdict,
        _ index: Int,
        _ rules: ReceiptRules
    ) -> Disposition {
        var disposition = judged(receipt, verdict, index, rules)
        disposition.settlement.burnsAttempt = false
        disposition.settlement.outcomeIsUnknown = false
        disposition.settlement.providerMessageID = nil
        switch disposition.settlement.state {
        case .accepted: disposition.settlement.state = .delivered
        case .failed:
            let reason = disposition.settlement.reason ?? ""
            if let last = disposition.lastWord {
                let cause = DeadLetterCause(receipt, rules.provider, reason: reason, lastReason: last)
                disposition.loss = LostDelivery(cause: cause, key: receipt.key, attempts: receipt.attempts)
            } else {
                disposition.deadDevice = DeadDevice(receipt, reason: reason)
            }
        default: break
        }
        return disposition
    }

    /// What the ladder says; one that is held for a fault of ours has an end too.
    private static func judged(
        _ receipt: OpenReceipt,
        _ verdict: Verdict,
        _ index: Int,
        _ rules: ReceiptRules
    ) -> Disposition {
        var attempt = Attempt(index: index, key: receipt.key, attempts: receipt.attempts, limit: rules.retryLimit)
        guard let fault = rules.ownFault(in: verdict) else {
            attempt.attempts -= verdict.burnsAttempt ? 1 : 0
            return rules.ladder.disposition(of: attempt, after: verdict)
        }
        attempt.attempts -= 1
        // It would be taken again at once, and refused again by its receipt: only the attempts come to an end.
        let counted = rules.ladder.disposition(of: attempt, after: .configError(fault, scope: .message))
        guard counted.lastWord == nil else { return counted }
        return rules.ladder.disposition(of: attempt, after: .configError(fault, scope: .provider))
    }
}

extension ReceiptRules {
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
