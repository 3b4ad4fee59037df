package import BellhopRules

/// A process that claims deliveries, as recorded in its claims.
package struct Claimant: Sendable, Hashable {
    /// The low 23 bits of the number that the database assigned to the process.
    package let number: Int64

    /// A claimant whose claims name no process, so that no scheduler can consider their process dead.
    package static let unknown = Claimant(number: 0)

    package init(number: Int64) {
        self.number = number & 0x7f_ffff
    }
}

/// The right to send and settle the deliveries that one batch has claimed: a number that no other batch has.
package struct Claim: Sendable, Hashable {
    package let number: Int64

    /// The number of random low bits.
    ///
    /// The claimant's number is above them, below the sign bit.
    static let chanceBits: Int64 = 40

    /// The time from the end of a claim's lease to the claim's due time.
    ///
    /// Readers of `updated_at` must find that the lease has ended.
    static let afterLease = "interval '2 s'"

    package init(of claimant: Claimant = .unknown, using chance: inout some RandomNumberGenerator) {
        number = claimant.number << Self.chanceBits | Int64.random(in: 0..<1 << Self.chanceBits, using: &chance)
    }
}

/// A claimed delivery, as its claimer sends and settles it.
package struct ClaimedDelivery: Sendable {
    package let key: DeliveryKey
    /// The number of attempts before this one.
    package let attempts: Int
    /// Whether the outcome of an earlier send is unknown, so that another send may be a repeat.
    package let outcomeWasUnknown: Bool
    /// The digest that contains the delivery; `nil` if it is sent separately.
    package let digest: Timestamp?
    /// The delivery's turn in the backlog from which it was pulled.
    package var queuedAt: Timestamp?
    /// Whether the delivery was in the backlog because of an operator's hold.
    package var wasHeld = false
}

/// The initial row of a delivery in the ledger, without its notification.
package struct NewDelivery: Sendable, Equatable {
    package let channel: Channel
    package let target: String
    package let state: DeliveryState
    package let reason: String?
    /// The time until which a `deferred` delivery waits.
    package var wait: Wait?

    /// Returns a delivery that the recording statement claims, so that it can be sent immediately.
    package static func sending(to target: String, by channel: Channel = .push) -> NewDelivery {
        NewDelivery(channel: channel, target: target, state: .sending, reason: nil)
    }

    package static func suppressed(_ reason: SuppressionReason, target: String = nobody) -> NewDelivery {
        NewDelivery(channel: .push, target: target, state: .suppressed, reason: reason.rawValue)
    }

    /// Returns a delivery for which the rules run again when it is due.
    package static func deferred(to target: String, _ wait: Wait) -> NewDelivery {
        NewDelivery(channel: .push, target: target, state: .deferred, reason: wait.reason.rawValue, wait: wait)
    }

    package static func expired(target: String = nobody) -> NewDelivery {
        NewDelivery(channel: .push, target: target, state: .expired, reason: "expired-before-sending")
    }

    /// Whether the delivery begins in its terminal state because it has no destination.
    var isUnsent: Bool { (state == .suppressed || state == .expired) && target == Self.nobody }

    /// The target if no device and no address was eligible.
    package static let nobody = TargetNumber.Words.nobody
    /// The target of every mail: a user has one address.
    package static let mailbox = TargetNumber.Words.mailbox
}

extension Wait {
    /// The JSON that the ledger stores: `{"until": …}`, with the digest's slot or the mark of a burst.
    var json: [UInt8] {
        var object: JSONObject = ["until": .string(until.description)]
        if reason == .digest { object[Self.slotKey] = .string(until.description) }
        if reason == .burst { object[Self.burstKey] = .bool(true) }
        return object.canonicalBytes
    }

    /// The member that marks a wait for the end of a burst.
    static let burstKey = "burst"

    /// The member that names the delivery's digest.
    static let slotKey = "digest"
}

/// The outcome of a claimed delivery.
package struct Settlement: Sendable {
    package var key: DeliveryKey
    package var state: DeliveryState
    package var reason: String?
    package var providerMessageID: String?
    /// Whether the attempt counts towards the retry limit.
    package var burnsAttempt: Bool
    /// Whether the provider may have accepted the delivery without a known answer.
    package var outcomeIsUnknown = false
    /// The wait until the delivery is due, by the database clock, for `retrying`, `deferred` and `accepted`.
    package var dueIn: Duration?
    /// The wait that a rule requires, with its reason.
    package var wait: Wait?
    /// When the delivery was sent, if it was accepted just now.
    package var sentAt: Timestamp?
    /// The backlog of a delivery that is `deferred` until its outlet has capacity.
    ///
    /// Such a delivery has no due time.
    package var backlog: BacklogEntry?

    package init(
        _ key: DeliveryKey,
        _ state: DeliveryState,
        reason: String? = nil,
        providerMessageID: String? = nil,
        burnsAttempt: Bool = true,
        dueIn: Duration? = nil
    ) {
        self.key = key
        self.state = state
        self.reason = reason
        self.providerMessageID = providerMessageID
        self.burnsAttempt = burnsAttempt
        self.dueIn = dueIn
    }
}
