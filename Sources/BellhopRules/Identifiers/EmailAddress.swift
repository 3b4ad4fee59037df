/// An e-mail address, validated by its form alone.
///
/// It cannot contain characters that could begin a new mail header.
public struct EmailAddress: TextIdentifier {
    /// The identifier's text.
    public let text: String

    /// The required form of the identifier.
    public static let rule = "at most 254 bytes: a local part without %, ! and spaces, one @, a domain name with a dot"

    /// Creates the value from text; `nil` if the text violates the rule.
    public init?(validating text: String) {
        guard IdentifierRules.isEmailAddress(text) else { return nil }
        self.text = text
    }
}
