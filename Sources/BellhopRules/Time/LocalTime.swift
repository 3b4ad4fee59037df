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
    public var description: String {
        "\(hour.padded(to: 2)):\(minute.padded(to: 2))"
    }
}
