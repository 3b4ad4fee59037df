/// The app of a message: the first part of its routing key and of every primary key.
public struct AppID: TextIdentifier {
    /// The identifier's text.
    public let text: String

    /// The required form of the identifier.
    public static let rule = "a lower-case letter, then at most 31 lower-case letters, digits, _ or -"

    /// Creates the value from text; `nil` if the text violates the rule.
    public init?(validating text: String) {
        guard IdentifierRules.isAppName(text) else { return nil }
        self.text = text
    }
}
