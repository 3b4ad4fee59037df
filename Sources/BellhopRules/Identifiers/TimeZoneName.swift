/// The name of a zone such as `Europe/Oslo`, by its shape: whether the tables know it is seen where it is used.
public struct TimeZoneName: TextIdentifier {
    /// The identifier as it is written.
    public let text: String

    /// What an identifier of this kind looks like.
    public static let rule = "an IANA zone name such as Europe/Oslo, at most 64 characters"

    /// Takes a text that keeps the rule, nil otherwise.
    public init?(validating text: String) {
        guard IdentifierRules.isTimeZoneName(text) else { return nil }
        self.text = text
    }
}
