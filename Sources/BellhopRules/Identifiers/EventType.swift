/// The kind of an event, such as `transaction_complete`: the rest of the routing key after the app.
public struct EventType: TextIdentifier {
    /// The identifier's text.
    public let text: String

    /// The required form of the identifier.
    public static let rule = "1 to 64 letters, digits, _, . or -"

    /// Creates the value from text; `nil` if the text violates the rule.
    public init?(validating text: String) {
        guard IdentifierRules.isTypeName(text, longest: 64) else { return nil }
        self.text = text
    }
}
