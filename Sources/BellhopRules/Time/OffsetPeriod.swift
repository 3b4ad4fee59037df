/// A period in which clocks have a constant offset from UTC.
struct OffsetPeriod: Equatable {
    /// The offset in seconds ahead of UTC.
    let offset: Int
    /// The start of the next period in seconds since 1970; `nil` if this period does not end.
    let end: Int?

    /// Returns whether an instant is before the end.
    func holds(at seconds: Int) -> Bool {
        guard let end else { return true }
        return seconds < end
    }
}
