/// Conversion to PostgreSQL's timestamps, which count microseconds from the year 2000 and reserve the extremes for the
/// infinities.
enum PostgresEpoch {
    /// Microseconds from 1970-01-01 to 2000-01-01.
    private static let offset: Int64 = 946_684_800_000_000

    /// Returns PostgreSQL's timestamp; `nil` if it would overflow or mean an infinity.
    static func microseconds(since1970 instant: Int64) -> Int64? {
        let (microseconds, overflow) = instant.subtractingReportingOverflow(offset)
        return overflow || isInfinite(microseconds) ? nil : microseconds
    }

    /// Returns the time since 1970; `nil` for `infinity` and `-infinity`, and if the sum would overflow.
    static func since1970(_ microseconds: Int64) -> Int64? {
        let (instant, overflow) = microseconds.addingReportingOverflow(offset)
        return overflow || isInfinite(microseconds) ? nil : instant
    }

    private static func isInfinite(_ microseconds: Int64) -> Bool {
        microseconds == .max || microseconds == .min
    }
}
