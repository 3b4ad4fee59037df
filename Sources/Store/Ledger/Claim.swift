package import BellhopRules

/// A process that claims deliveries, as its claims name it.
package struct Claimant: Sendable, Hashable {
    /// 23 bits of the number that the database has given the process.
    package let number: Int64

    /// Its claims name nobody, so nobody takes their claimer for dead.
    package static let unknown = Claimant(number: 0)

    package init(number: Int64) {
        self.number = number & 0x7f_ffff
    }
}

/// The right to send and to settle what one batch has claimed: a number that no other batch has.
package struct Claim: Sendable, Hashable {
    package let number: Int64

    /// Bits of chance; above them stands the claimant, below the sign.
    static let chanceBits: Int64 = 40

    package init(of claimant: Claimant = .unknown, using chance: inout some RandomNumberGenerator) {
        number = claimant.number << Self.chanceBits | Int64.random(in: 0..<1 << Self.chanceBits, using: &chance)
    }
}

/// A delivery in the hands of its claimer.
package struct ClaimedDelivery: Sendable {
    package let key: DeliveryKey
    /// Attempts before this one.
    package let attempts: Int
    /// Of an earlier send nobody learnt what became of it: another one may be a repeat.
    package let outcomeWasUnknown: Bool
    /// The digest that it belongs to; nil where it goes out by itself.
    package let digest: Timestamp?
    /// Its turn in the backlog that it was pulled from.
    package var queuedAt: Timestamp?
    /// Whether an operator's hold had put it there.
    package var wasHeld = false
}
