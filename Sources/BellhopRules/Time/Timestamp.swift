/// An instant in whole microseconds since 1970 (UTC), between the years 1970 and 9999, which PostgreSQL stores exactly.
public struct Timestamp: Hashable, Comparable, Sendable {
    /// Microseconds since 1970-01-01T00:00:00Z.
    public let microseconds: Int64

    /// The last microsecond of the year 9999.
    private static let latest: Int64 = 253_402_300_799_999_999

    /// Creates an instant from microseconds; `nil` outside the years 1970 to 9999.
    public init?(microseconds: Int64) {
        guard microseconds >= 0, microseconds <= Self.latest else { return nil }
        self.microseconds = microseconds
    }

    /// Creates an instant from microseconds; values outside the years 1970 to 9999 are moved to the nearer limit.
    public init(clamping microseconds: Int64) {
        self.microseconds = min(max(microseconds, 0), Self.latest)
    }

    /// Creates an instant from whole seconds, such as the AMQP timestamp; `nil` outside the years 1970 to 9999.
    public init?(seconds: UInt64) {
        guard let seconds = Int64(exactly: seconds) else { return nil }
        let (microseconds, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000)
        guard !overflow else { return nil }
        self.init(microseconds: microseconds)
    }

    /// Returns whether the left instant is earlier.
    public static func < (left: Timestamp, right: Timestamp) -> Bool {
        left.microseconds < right.microseconds
    }
}
