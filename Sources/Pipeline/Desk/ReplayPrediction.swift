import BellhopRules

/// What a replay would make of one item, if it went out at this moment.
package struct ReplayPrediction: Sendable, Equatable {
    package enum Kind: String, CaseIterable, Sendable {
        case wouldSend = "would-send"
        /// It would wait behind an open breaker.
        case heldByBreaker = "held-by-breaker"
        /// It would wait until an operator releases it.
        case heldByOperator = "held-by-operator"
        /// It would wait, for the end of quiet hours or for a digest.
        case quietUntil = "quiet-until"
        /// Something would be recorded or changed, and nothing be sent.
        case wouldRecord = "would-record"
        case optedOut = "opted-out"
        case tokenGone = "token-gone"
        case alreadyDelivered = "already-delivered"
        case alreadyRecorded = "already-recorded"
        case expired
        /// Somebody is about to send it anyway.
        case stillOwed = "still-owed"
        /// It would be refused again.
        case stillInvalid = "invalid-still"
        /// Its user was erased, or its line in the ledger is no more.
        case gone
    }

    package let kind: Kind
    /// The rule's or the rejection's word, or until when it would wait.
    package let detail: String?

    init(_ kind: Kind, _ detail: String? = nil) {
        self.kind = kind
        self.detail = detail
    }

    /// What the rules say of a push that would go out.
    init(_ outcome: Outcome) {
        switch outcome {
        case .send: self.init(.wouldSend)
        case .wait(let wait): self.init(.quietUntil, "\(wait.reason.rawValue) \(wait.until)")
        case .drop: self.init(.optedOut, SuppressionReason.quietHours.rawValue)
        case .expire: self.init(.expired)
        case .suppress(.deviceGone), .suppress(.noDevice): self.init(.tokenGone)
        case .suppress(.recipientErased): self.init(.gone)
        case .suppress(let reason): self.init(.optedOut, reason.rawValue)
        }
    }

    /// Of several pushes of one message the one that matters most.
    var weight: Int { Self.byWeight.firstIndex(of: kind) ?? Self.byWeight.count }

    private static let byWeight: [Kind] = [
        .wouldSend, .heldByBreaker, .heldByOperator, .quietUntil, .wouldRecord, .optedOut, .tokenGone, .expired,
    ]
}
