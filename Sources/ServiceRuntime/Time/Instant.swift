/// A point in time: whole microseconds since 1970-01-01T00:00:00Z, with PostgreSQL's precision.
///
/// Arithmetic saturates at the ends of `Int64` instead of trapping, because instants and spans come from messages.
package struct Instant: Hashable, Comparable, Sendable {
    package let microseconds: Int64

    package init(microseconds: Int64) {
        self.microseconds = microseconds
    }

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
