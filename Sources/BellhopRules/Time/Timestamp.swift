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

    /// The instant with milliseconds, as in all times that clients receive: `2026-02-15T13:45:00.000Z`.
    package var inMilliseconds: String { Timestamp(clamping: microseconds / 1_000 * 1_000).description }
}

extension Timestamp: CustomStringConvertible {
    /// The required form of an instant.
    public static let rule = "an RFC 3339 instant such as 2026-02-15T13:45:00.000Z, between the years 1970 and 9999"

    /// Reads RFC 3339: date, `T`, time, up to nine digits of fraction (cut to microseconds), `Z` or an offset.
    ///
    /// Nonexistent dates, leap seconds and years outside 1970 to 9999 are rejected. A missing offset is rejected,
    /// because the zone of the time would be unknown. The parser works on bytes and never traps.
    public init?(validating text: String) {
        guard let time = text.withBytes(Self.init(reading:)) else { return nil }
        self = time
    }

    /// Reads the same form from bytes.
    init?(reading text: UnsafeBufferPointer<UInt8>) {
        guard let microseconds = Self.parse(text) else { return nil }
        self.init(microseconds: microseconds)
    }

    private static func parse(_ bytes: UnsafeBufferPointer<UInt8>) -> Int64? {
        guard bytes.count >= 20, bytes.count <= 35 else { return nil }
        guard bytes[4] == UInt8(ascii: "-"), bytes[7] == UInt8(ascii: "-"), bytes[10] | 0x20 == UInt8(ascii: "t"),
            bytes[13] == UInt8(ascii: ":"), bytes[16] == UInt8(ascii: ":")
        else { return nil }
        guard let year = number(bytes, 0, 4), let month = number(bytes, 5, 2), let day = number(bytes, 8, 2),
            let hour = number(bytes, 11, 2), let minute = number(bytes, 14, 2), let second = number(bytes, 17, 2)
        else { return nil }
        guard let date = LocalDate(year: year, month: month, day: day) else { return nil }
        guard hour < 24, minute < 60, second < 60 else { return nil }
        guard let (fraction, rest) = fraction(bytes), let offset = offset(bytes, at: rest) else { return nil }
        let seconds = ((date.daysSinceEpoch * 24 + hour) * 60 + minute - offset) * 60 + second
        return Int64(seconds) * 1_000_000 + Int64(fraction)
    }

    private static func number(_ bytes: UnsafeBufferPointer<UInt8>, _ start: Int, _ length: Int) -> Int? {
        var value = 0
        for index in start..<start + length {
            guard IdentifierRules.isDigit(bytes[index]) else { return nil }
            value = value * 10 + Int(bytes[index] - UInt8(ascii: "0"))
        }
        return value
    }

    /// Returns the microseconds of the fraction, and the index of its end.
    private static func fraction(_ bytes: UnsafeBufferPointer<UInt8>) -> (microseconds: Int, end: Int)? {
        guard bytes[19] == UInt8(ascii: ".") else { return (0, 19) }
        var index = 20
        var value = 0
        var unit = 100_000
        while index < bytes.count, IdentifierRules.isDigit(bytes[index]) {
            value += Int(bytes[index] - UInt8(ascii: "0")) * unit
            unit /= 10
            index += 1
        }
        guard index > 20, index <= 29 else { return nil }
        return (value, index)
    }

    /// Returns the offset in minutes east of UTC.
    private static func offset(_ bytes: UnsafeBufferPointer<UInt8>, at index: Int) -> Int? {
        guard index < bytes.count else { return nil }
        if bytes[index] | 0x20 == UInt8(ascii: "z") { return index + 1 == bytes.count ? 0 : nil }
        guard bytes[index] == UInt8(ascii: "+") || bytes[index] == UInt8(ascii: "-") else { return nil }
        guard index + 6 == bytes.count, bytes[index + 3] == UInt8(ascii: ":") else { return nil }
        guard let hours = number(bytes, index + 1, 2), let minutes = number(bytes, index + 4, 2) else { return nil }
        guard hours < 24, minutes < 60 else { return nil }
        let total = hours * 60 + minutes
        return bytes[index] == UInt8(ascii: "-") ? -total : total
    }

    /// The instant in UTC, with milliseconds, or with microseconds if necessary: `2026-02-15T13:45:00.000Z`.
    public var description: String {
        let (seconds, micros) = (Int(microseconds / 1_000_000), Int(microseconds % 1_000_000))
        let (date, time) = (LocalDate(daysSinceEpoch: seconds / 86_400).parts, seconds % 86_400)
        let isWhole = micros % 1000 == 0
        // Digits are written directly into the text, because most notifications contain such a time.
        return String(unsafeUninitializedCapacity: 27) { text in
            var end = 0
            func add(_ number: Int, width: Int, _ mark: Unicode.Scalar) {
                var rest = number
                for place in stride(from: end + width - 1, through: end, by: -1) {
                    text[place] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
                    rest /= 10
                }
                text[end + width] = UInt8(ascii: mark)
                end += width + 1
            }
            add(date.year, width: 4, "-")
            add(date.month, width: 2, "-")
            add(date.day, width: 2, "T")
            add(time / 3600, width: 2, ":")
            add(time / 60 % 60, width: 2, ":")
            add(time % 60, width: 2, ".")
            if isWhole { add(micros / 1000, width: 3, "Z") } else { add(micros, width: 6, "Z") }
            return end
        }
    }
}
