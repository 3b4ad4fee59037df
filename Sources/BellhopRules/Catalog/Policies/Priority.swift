/// The urgency of a type, as its catalogue defines it; a producer cannot change it.
public enum Priority: String, CaseIterable, Hashable, Sendable {
    /// Sent immediately, even in quiet hours.
    case high
    /// Sent in turn.
    case normal
    /// Sent when there is capacity; may be gathered.
    case low

    /// The lane for events of this priority.
    public var lane: Lane {
        switch self {
        case .high: .urgent
        case .normal: .normal
        case .low: .bulk
        }
    }
}

/// One of the three queues for events, so that urgent events never wait behind large ones.
public enum Lane: String, CaseIterable, Hashable, Sendable {
    /// For priority `high`.
    case urgent
    /// For priority `normal`, and for events that no catalogue describes.
    case normal
    /// For priority `low`.
    case bulk
}

extension Lane {
    /// The priority of its events.
    package var priority: Priority {
        switch self {
        case .urgent: .high
        case .normal: .normal
        case .bulk: .low
        }
    }
}
