/// The state of an item.
package enum DeadLetterState: String, CaseIterable, Sendable {
    /// Waits for an operator.
    case open
    /// Part of a replay.
    case replaying
    /// Resolved by a replay or by its edited copy. Another failure opens it again.
    case resolved
    /// Discarded by an operator, who can restore it.
    case discarded
}
