extension Timestamp {
    /// The instant with milliseconds, as in all times that clients receive: `2026-02-15T13:45:00.000Z`.
    package var inMilliseconds: String {
        Timestamp(clamping: microseconds / 1_000 * 1_000).description
    }
}
