package import BellhopRules

/// The right to send and to settle what one batch has claimed: a number that no other batch has.
package struct Claim: Sendable, Hashable {
    package let number: Int64

    package init(using chance: inout some RandomNumberGenerator) {
        number = Int64.random(in: .min ... .max, using: &chance)
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
