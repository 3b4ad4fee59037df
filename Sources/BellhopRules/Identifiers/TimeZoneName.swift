/// The name of a zone such as `Europe/Oslo`, validated by its form.
///
/// The tz database is consulted only where the zone is used.
public struct TimeZoneName: TextIdentifier {
    /// The identifier's text.
    public let text: String

    /// The required form of the identifier.
    public static let rule = "an IANA zone name such as Europe/Oslo, at most 64 characters"

    /// Creates the value from text; `nil` if the text violates the rule.
    public init?(validating text: String) {
        guard IdentifierRules.isTimeZoneName(text) else { return nil }
        self.text = text
    }
}
