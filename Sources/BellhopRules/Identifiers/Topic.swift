/// A topic that users follow, such as `venue:42`.
public struct Topic: TextIdentifier {
    /// The identifier's text.
    public let text: String

    /// The required form of the identifier.
    public static let rule = "1 to 255 bytes without control characters"

    /// Creates the value from text; `nil` if the text violates the rule.
    public init?(validating text: String) {
        guard IdentifierRules.isPlain(text, longest: 255) else { return nil }
        self.text = text
    }
}
