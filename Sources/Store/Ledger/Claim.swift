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
