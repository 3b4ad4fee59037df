package import BellhopRules
import Store

/// The outcome of one item if it were replayed now.
package struct ReplayPrediction: Sendable, Equatable {
    package enum Kind: String, CaseIterable, Sendable {
        case wouldSend = "would-send"
        /// It would wait behind an open breaker.
        case heldByBreaker = "held-by-breaker"
        /// It would wait until an operator releases the hold.
        case heldByOperator = "held-by-operator"
        /// It would wait for the end of a pause or quiet hours, or for a digest.
        case quietUntil = "quiet-until"
        /// Something would be recorded or changed, and nothing would be sent.
        case wouldRecord = "would-record"
        /// Its fan-out would begin; without an audience now, it would reach no user.
        case wouldFanOut = "would-fan-out"
        case optedOut = "opted-out"
        case tokenGone = "token-gone"
        /// The user has no registered device.
        case noDevice = "no-device"
        case alreadyDelivered = "already-delivered"
        case alreadyRecorded = "already-recorded"
        case expired
        /// Its delivery is still open and will be sent without a replay.
        case stillOwed = "still-owed"
        /// It would be rejected again.
        case stillInvalid = "invalid-still"
        /// Its user was erased, or its row in the ledger no longer exists.
        case gone

        /// Whether a push or a mail may follow, now or later.
        package var maySend: Bool {
            switch self {
            case .wouldSend, .heldByBreaker, .heldByOperator, .quietUntil, .wouldFanOut: true
            case .wouldRecord, .optedOut, .tokenGone, .noDevice, .alreadyDelivered, .alreadyRecorded, .expired,
                .stillOwed,
                .stillInvalid, .gone:
                false
            }
        }
    }

    package let kind: Kind
    /// The rule's or the rejection's reason, or the end of the wait.
    package let detail: String?
    /// The end of the wait of a delivery that would wait by a rule.
    package private(set) var until: Timestamp?

    init(_ kind: Kind, _ detail: String? = nil) {
        self.kind = kind
        self.detail = detail
    }

    /// Creates the prediction for a push with this outcome of the rules.
    init(_ outcome: Outcome) {
        switch outcome {
        case .send: self.init(.wouldSend)
        case .wait(let wait):
            self.init(.quietUntil, "\(wait.reason.rawValue) \(wait.until)")
            until = wait.until
        case .drop: self.init(.optedOut, SuppressionReason.quietHours.rawValue)
        case .expire: self.init(.expired)
        case .suppress(.deviceGone): self.init(.tokenGone)
        case .suppress(.noDevice): self.init(.noDevice)
        case .suppress(.recipientErased): self.init(.gone)
        case .suppress(let reason): self.init(.optedOut, reason.rawValue)
        }
    }

    /// The rank of the prediction; among several pushes of one message, the lowest rank is the most important.
    var weight: Int { Self.byWeight.firstIndex(of: kind) ?? Self.byWeight.count }

    /// The detail of a fan-out without an audience.
    static let noAudience = "no audience"

    private static let byWeight: [Kind] = [
        .wouldSend, .heldByBreaker, .heldByOperator, .quietUntil, .wouldRecord, .optedOut, .tokenGone,
        .noDevice, .expired,
    ]
}

/// The current obstacles at the providers, as a replay would find them.
struct ReplayObstacles: Sendable {
    private let breakers: [OpenBreaker]
    private let holds: [HoldScope]

    init(of pool: ConnectionPool) async throws(StoreError) {
        breakers = try await OpenBreaker.all(on: pool)
        holds = try await OperatorHold.all(on: pool).map(\.scope)
    }

    /// Returns the prediction for an outcome at a device, or at the user's mailbox if the device is `nil`.
    func prediction(_ outcome: Outcome, to device: Device?, _ app: AppID, _ type: EventType) -> ReplayPrediction {
        guard case .send = outcome else { return ReplayPrediction(outcome) }
        let outlet = device.map { OutletKey(app: app, provider: $0.provider) } ?? .email(of: app)
        if holds.contains(where: { $0.covers(app, provider: outlet.provider, type: type) }) {
            return ReplayPrediction(.heldByOperator, outlet.provider)
        }
        let breaker = breakers.first { breaker in
            breaker.key.isOf(outlet) && (breaker.key.platform == nil || breaker.key.platform == device?.platform)
        }
        return breaker.map { ReplayPrediction(.heldByBreaker, "\(outlet.provider) says \($0.reason)") }
            ?? ReplayPrediction(outcome)
    }
}
