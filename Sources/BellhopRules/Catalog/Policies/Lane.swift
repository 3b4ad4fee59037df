/// One of the three queues that events travel in, so that what is urgent never waits behind what is big.
public enum Lane: String, CaseIterable, Hashable, Sendable {
    /// For priority `high`.
    case urgent
    /// For priority `normal`, and for whatever no catalogue knows.
    case normal
    /// For priority `low`.
    case bulk
}
