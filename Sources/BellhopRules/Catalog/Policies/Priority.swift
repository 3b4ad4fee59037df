/// How much a type matters, as its catalogue says; a producer cannot.
public enum Priority: String, CaseIterable, Hashable, Sendable {
    /// At once, past quiet hours.
    case high
    /// In its turn.
    case normal
    /// When there is time; may be gathered.
    case low

    /// The lane that carries events of this priority.
    public var lane: Lane {
        switch self {
        case .high: .urgent
        case .normal: .normal
        case .low: .bulk
        }
    }
}

/// One of the three queues that events travel in, so that what is urgent never waits behind what is big.
public enum Lane: String, CaseIterable, Hashable, Sendable {
    /// For priority `high`.
    case urgent
    /// For priority `normal`, and for whatever no catalogue knows.
    case normal
    /// For priority `low`.
    case bulk
}
