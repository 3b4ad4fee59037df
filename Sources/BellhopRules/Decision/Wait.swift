/// The reason why a push waits, and the end of the wait.
public struct Wait: Hashable, Sendable {
    /// The reason for a wait.
    public enum Reason: String, CaseIterable, Hashable, Sendable {
        /// The end of the user's quiet hours.
        case quietHours = "quiet-hours"
        /// The user's next digest, in which it is gathered with others.
        case digest
        /// The end of a burst, at which only the newest is sent.
        case burst
    }

    /// The reason for the wait.
    public let reason: Reason
    /// The first instant at which the rules run again.
    ///
    /// For a digest, it identifies the digest, together with the user.
    public let until: Timestamp

    /// Creates a wait from a rule's finding or from stored values.
    public init(_ reason: Reason, until: Timestamp) {
        self.reason = reason
        self.until = until
    }
}
