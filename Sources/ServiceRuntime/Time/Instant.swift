/// A point in time: whole microseconds since 1970-01-01T00:00:00Z, with PostgreSQL's precision.
///
/// Arithmetic saturates at the ends of `Int64` instead of trapping, because instants and spans come from messages.
package struct Instant: Hashable, Comparable, Sendable {
    package let microseconds: Int64

    package init(microseconds: Int64) { self.microseconds = microseconds }

    /// Creates an instant from whole seconds since 1970; saturates.
    package init(seconds: Int64) {
        self.init(microseconds: seconds.saturatingMultiplied(by: 1_000_000))
    }

    package static let epoch = Instant(microseconds: 0)
    package static let distantPast = Instant(microseconds: .min)
    package static let distantFuture = Instant(microseconds: .max)

    package static func < (left: Instant, right: Instant) -> Bool {
        left.microseconds < right.microseconds
    }

    package static func + (instant: Instant, span: Duration) -> Instant {
        Instant(microseconds: instant.microseconds.saturatingAdded(span.microseconds))
    }

    package static func - (instant: Instant, span: Duration) -> Instant {
        Instant(microseconds: instant.microseconds.saturatingSubtracted(span.microseconds))
    }

    /// Returns the span from `right` to `left`, which is negative if `left` is earlier.
    package static func - (left: Instant, right: Instant) -> Duration {
        .microseconds(left.microseconds.saturatingSubtracted(right.microseconds))
    }
}

extension Duration {
    /// The span in whole microseconds, rounded towards zero.
    ///
    /// It saturates at about 292,000 years in each direction.
    package var microseconds: Int64 {
        let (seconds, attoseconds) = components
        return seconds.saturatingMultiplied(by: 1_000_000).saturatingAdded(attoseconds / 1_000_000_000_000)
    }

    /// The span in seconds, for metrics and for display.
    package var secondsAsDouble: Double {
        let (seconds, attoseconds) = components
        return Double(seconds) + Double(attoseconds) * 1e-18
    }
}

extension Int64 {
    /// Returns the sum, or the nearest end of the range if it overflows.
    func saturatingAdded(_ other: Int64) -> Int64 {
        let (sum, overflow) = addingReportingOverflow(other)
        guard overflow else { return sum }
        return other > 0 ? .max : .min
    }

    /// Returns the difference, or the nearest end of the range if it overflows.
    func saturatingSubtracted(_ other: Int64) -> Int64 {
        let (difference, overflow) = subtractingReportingOverflow(other)
        guard overflow else { return difference }
        return other < 0 ? .max : .min
    }

    /// Returns the product, or the nearest end of the range if it overflows.
    func saturatingMultiplied(by other: Int64) -> Int64 {
        let (product, overflow) = multipliedReportingOverflow(by: other)
        guard overflow else { return product }
        return (self < 0) == (other < 0) ? .max : .min
    }
}

extension Instant: CustomStringConvertible {
    /// RFC 3339 in UTC with milliseconds, `2026-02-15T13:45:00.123Z`, rounded towards the past.
    ///
    /// Years outside 0000...9999, which RFC 3339 cannot represent, use the signed form of ISO 8601 (`+294247-01-10T…`).
    package var description: String {
        let (day, time) = microseconds.dividedTowardsPast(by: 86_400_000_000)
        let milliseconds = time / 1_000
        let date = CivilDate(daysSinceEpoch: day)
        return """
            \(date.yearText)-\(padded(date.month, to: 2))-\(padded(date.day, to: 2))T\
            \(padded(milliseconds / 3_600_000, to: 2)):\(padded(milliseconds / 60_000 % 60, to: 2)):\
            \(padded(milliseconds / 1_000 % 60, to: 2)).\(padded(milliseconds % 1_000, to: 3))Z
            """
    }
}

/// A date of the proleptic Gregorian calendar, computed without a calendar object, because every log line needs one.
private struct CivilDate {
    let year: Int64
    let month: Int64
    let day: Int64

    /// Converts days since 1970.
    ///
    /// It counts in cycles of 400 years (146,097 days) that begin on 1 March, so that a leap day ends its year.
    init(daysSinceEpoch: Int64) {
        // 719,468 days lie between 0000-03-01 and 1970-01-01.
        let (cycle, dayOfCycle) = (daysSinceEpoch + 719_468).dividedTowardsPast(by: 146_097)
        let leapDays = dayOfCycle / 1_460 - dayOfCycle / 36_524 + dayOfCycle / 146_096
        let yearOfCycle = (dayOfCycle - leapDays) / 365
        let dayOfYear = dayOfCycle - (yearOfCycle * 365 + yearOfCycle / 4 - yearOfCycle / 100)
        // From March on, every five months have 153 days.
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
        month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        year = cycle * 400 + yearOfCycle + (month <= 2 ? 1 : 0)
    }

    var yearText: String {
        if (0...9_999).contains(year) { return padded(year, to: 4) }
        return (year < 0 ? "-" : "+") + padded(abs(year), to: 6)
    }
}

/// Returns a number that is not negative, with leading zeros.
private func padded(_ number: Int64, to width: Int) -> String {
    let digits = String(number)
    return String(repeating: "0", count: max(0, width - digits.count)) + digits
}

extension Int64 {
    /// Returns the quotient and a remainder that is never negative.
    fileprivate func dividedTowardsPast(by divisor: Int64) -> (quotient: Int64, remainder: Int64) {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
    }
}
