/// Why a push waits, and until when.
public struct Wait: Hashable, Sendable {
    /// What it waits for.
    public enum Reason: String, CaseIterable, Hashable, Sendable {
        /// The end of the user's quiet hours.
        case quietHours = "quiet-hours"
        /// The user's next digest, in which it is gathered with others.
        case digest
        /// The end of a burst, of which the newest goes out.
        case burst
    }

    /// What it waits for.
    public let reason: Reason
    /// The first instant at which it is decided anew; for a digest its identity, together with the user.
    public let until: Timestamp

    /// A wait as a rule has found it, or as it was kept.
    public init(_ reason: Reason, until: Timestamp) {
        self.reason = reason
        self.until = until
    }
}
