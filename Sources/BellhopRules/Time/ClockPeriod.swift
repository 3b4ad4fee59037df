/// A stretch of time over which clocks keep one distance from UTC.
struct ClockPeriod: Equatable {
    /// Seconds ahead of UTC.
    let offset: Int
    /// When the next period begins, in seconds since 1970; nil where this one lasts.
    let end: Int?

    /// Whether an instant comes before the end.
    func holds(at seconds: Int) -> Bool {
        guard let end else { return true }
        return seconds < end
    }
}
