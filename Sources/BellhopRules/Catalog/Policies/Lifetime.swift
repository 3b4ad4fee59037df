/// The period for which a notification is useful, such as `24h`.
public struct Lifetime: Hashable, Sendable {
    /// The required form of a lifetime.
    public static let rule = "a whole number with s, m, h or d, such as 90s or 24h, at most 365d"

    private static let longest: Int64 = 365 * 86_400

    /// The length in seconds, at least 1.
    public let seconds: Int64

    /// Creates a lifetime from text; `nil` if the text violates the rule.
    public init?(validating text: String) {
        let units: [Character: Int64] = ["s": 1, "m": 60, "h": 3_600, "d": 86_400]
        let digits = text.utf8.dropLast()
        guard let unit = text.last.flatMap({ units[$0] }), digits.allSatisfy(IdentifierRules.isDigit),
            let count = Int64(Substring(digits)), count >= 1, count <= Self.longest / unit
        else { return nil }
        seconds = count * unit
    }

    /// Returns the end of a lifetime that begins at an instant.
    public func end(from start: Timestamp) -> Timestamp {
        Timestamp(clamping: start.microseconds + seconds * 1_000_000)
    }
}
