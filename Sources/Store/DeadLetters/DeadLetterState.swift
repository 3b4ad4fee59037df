/// Where an item of the desk stands.
package enum DeadLetterState: String, CaseIterable, Sendable {
    /// Waits for somebody.
    case open
    /// A replay holds it.
    case replaying
    /// A replay, or its edited copy, has taken care of it; it opens again if it dies again.
    case resolved
    /// Set aside by somebody, who can take that back.
    case discarded
}
