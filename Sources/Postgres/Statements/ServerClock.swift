/// PostgreSQL counts microseconds from the year 2000, and keeps the extremes for the infinities.
enum ServerClock {
    /// From 1970-01-01 to 2000-01-01.
    private static let offset: Int64 = 946_684_800_000_000

    /// Nil where the server's count would overflow or mean an infinity.
    static func microseconds(since1970 instant: Int64) -> Int64? {
        let (microseconds, overflow) = instant.subtractingReportingOverflow(offset)
        return overflow || isInfinite(microseconds) ? nil : microseconds
    }

    /// Nil for `infinity` and `-infinity`, and where the sum would overflow.
    static func since1970(_ microseconds: Int64) -> Int64? {
        let (instant, overflow) = microseconds.addingReportingOverflow(offset)
        return overflow || isInfinite(microseconds) ? nil : instant
    }

    private static func isInfinite(_ microseconds: Int64) -> Bool {
        microseconds == .max || microseconds == .min
    }
}
