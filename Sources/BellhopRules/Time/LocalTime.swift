/// A time of day on the user's own clock, to the minute.
public struct LocalTime: Hashable, Sendable, CustomStringConvertible {
    /// 0 to 23.
    public let hour: Int
    /// 0 to 59.
    public let minute: Int

    /// What a written local time looks like.
    public static let rule = "a local time from 00:00 to 23:59"

    /// Reads `HH:MM`, nil for anything else.
    public init?(validating text: String) {
        let bytes = Array(text.utf8)
        guard bytes.count == 5, bytes[2] == UInt8(ascii: ":") else { return nil }
        guard [0, 1, 3, 4].allSatisfy({ IdentifierRules.isDigit(bytes[$0]) }) else { return nil }
        let hour = Int(bytes[0] & 0x0F) * 10 + Int(bytes[1] & 0x0F)
        let minute = Int(bytes[3] & 0x0F) * 10 + Int(bytes[4] & 0x0F)
        guard hour < 24, minute < 60 else { return nil }
        self.hour = hour
        self.minute = minute
    }

    /// `HH:MM`.
    public var description: String {
        "\(hour < 10 ? "0" : "")\(hour):\(minute < 10 ? "0" : "")\(minute)"
    }
}
