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
