/// The reading of a zone's clocks at an instant.
public struct LocalDateTime: Hashable, Sendable {
    /// The date.
    public let date: LocalDate
    /// The hour and minute.
    public let time: LocalTime
    /// The second of the minute, 0 to 59.
    public let second: Int
    /// The offset of the clocks in seconds ahead of UTC.
    public let offset: Int

    /// Creates the reading of a clock that shows the given number of seconds after its own 1970-01-01T00:00:00, which
    /// is not that of UTC.
    init(localSeconds: Int, offset: Int) {
        let secondOfDay = localSeconds.modulo(86_400)
        date = LocalDate(daysSinceEpoch: localSeconds.quotient(86_400))
        time = LocalTime(secondOfDay: secondOfDay)
        second = secondOfDay % 60
        self.offset = offset
    }
}

extension LocalDateTime: CustomStringConvertible {
    /// The date, the time and the offset from UTC: `2026-03-29 03:00 +02:00`.
    ///
    /// Seconds are shown only if they are not zero, both in the time and in the offset.
    public var description: String {
        let seconds = second == 0 ? "" : ":" + second.padded(to: 2)
        return "\(date) \(time)\(seconds) \(Self.text(ofOffset: offset))"
    }

    /// Returns the offset as text: `+02:00`, `-03:30`, or `-00:44:30` for an offset with seconds.
    public static func text(ofOffset offset: Int) -> String {
        let size = Int(clamping: offset.magnitude)
        let seconds = size % 60 == 0 ? "" : ":" + (size % 60).padded(to: 2)
        return (offset < 0 ? "-" : "+") + "\((size / 3600).padded(to: 2)):\((size / 60 % 60).padded(to: 2))\(seconds)"
    }
}

/// A time of day on the user's own clock, to the minute.
public struct LocalTime: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The hour, 0 to 23.
    public let hour: Int
    /// The minute, 0 to 59.
    public let minute: Int

    /// The required form of a local time.
    public static let rule = "a local time from 00:00 to 23:59"

    /// Creates a time from an hour from 0 to 23 and a minute from 0 to 59; `nil` for other values.
    public init?(hour: Int, minute: Int) {
        guard (0..<24).contains(hour), (0..<60).contains(minute) else { return nil }
        self.hour = hour
        self.minute = minute
    }

    /// Reads `HH:MM`; `nil` for any other text.
    public init?(validating text: String) {
        let bytes = Array(text.utf8)
        guard bytes.count == 5, bytes[2] == UInt8(ascii: ":") else { return nil }
        guard [0, 1, 3, 4].allSatisfy({ IdentifierRules.isDigit(bytes[$0]) }) else { return nil }
        self.init(
            hour: Int(bytes[0] & 0x0F) * 10 + Int(bytes[1] & 0x0F),
            minute: Int(bytes[3] & 0x0F) * 10 + Int(bytes[4] & 0x0F)
        )
    }

    /// Creates the time of a second of the day, 0 to 86,399.
    init(secondOfDay: Int) {
        hour = secondOfDay / 3600
        minute = secondOfDay / 60 % 60
    }

    var secondOfDay: Int { (hour * 60 + minute) * 60 }

    /// Returns whether the left time is earlier in the day.
    public static func < (left: LocalTime, right: LocalTime) -> Bool {
        left.secondOfDay < right.secondOfDay
    }

    /// The time as `HH:MM`.
    public var description: String { "\(hour.padded(to: 2)):\(minute.padded(to: 2))" }
}
