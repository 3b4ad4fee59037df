import BellhopRules
import Push
import Store

/// The rules of a type's catalogue and of the policy for receipts.
struct ReceiptRules: Sendable {
    let ladder: RetryLadder
    let policy: ReceiptPolicy
    /// The retry limit of its type; `nil` for the usual limit.
    var retryLimit: Int?
    var provider: PushProvider
    /// Whether there is a mass failure of devices.
    ///
    /// If so, no answer that a device is gone is accepted.
    var isMassDeath = false

    /// The reason of a delivery without a receipt.
    ///
    /// It is not sent again, because it probably arrived.
    static let missing = "receipt-missing"
}

extension Disposition {
    /// Creates the disposition of a delivery that its provider had accepted; `accepted` if its receipt is polled again.
    ///
    /// `index` is the position of the broker's message in its batch.
    init(_ receipt: OpenReceipt, _ answer: ReceiptAnswer, index: Int, _ rules: ReceiptRules) {
        let wait: Duration?
        switch answer {
        case .known(let verdict):
            self = Self.settled(receipt, verdict, index, rules)
            return
        case .missing: wait = rules.policy.wait(atAge: receipt.age)
        // The provider may have the receipt; it keeps receipts no longer than the horizon in any case.
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

    /// Settles the delivery without a further attempt, because the attempt was counted when the provider accepted it.
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
                disposition.loss = AbandonedDelivery(cause: cause, key: receipt.key, attempts: receipt.attempts)
            } else {
                disposition.deadDevice = DeadDevice(receipt, reason: reason)
            }
        default: break
        }
        return disposition
    }

    /// Returns the ladder's result.
    ///
    /// A delivery that is held for a configuration error has a retry limit, too.
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
        // The provider would accept it immediately again and reject it in its receipt, so only the retry limit ends it.
        let counted = rules.ladder.disposition(of: attempt, after: .configError(fault, scope: .message))
        guard counted.lastWord == nil else { return counted }
        return rules.ladder.disposition(of: attempt, after: .configError(fault, scope: .provider))
    }
}

extension ReceiptRules {
    /// Returns the provider's reason, if a configuration error caused it and not the message.
    ///
    /// The delivery waits until the error is corrected.
    fileprivate func ownFault(in verdict: Verdict) -> VerdictReason? {
        if case .deviceGone(let reason, _) = verdict, isMassDeath { return reason }
        return verdict.refusal
    }
}

extension DeadDevice {
    /// Creates the revocation.
    ///
    /// The token of the send is current, unless it was registered again after the send; then the device stays active.
    fileprivate convenience init?(_ receipt: OpenReceipt, reason: String) {
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
    /// Creates the cause of a delivery that was given up after its provider had accepted it.
    fileprivate init(_ receipt: OpenReceipt, _ provider: PushProvider, reason: String, lastReason: String) {
        self.init(.receipt, reason: reason, error: "\(provider.rawValue) said \(lastReason)")
        app = receipt.key.notification.recipient.app.text
        user = receipt.key.notification.recipient.user.text
        eventID = receipt.origin?.event.text
        eventType = receipt.origin?.type.text
        self.provider = provider.rawValue
    }
}
