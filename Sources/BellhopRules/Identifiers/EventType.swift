/// What kind of thing happened, such as `transaction_complete`: the rest of the routing key after the app.
public struct EventType: TextIdentifier {
    /// The identifier as it is written.
    public let text: String

    /// What an identifier of this kind looks like.
    public static let rule = "1 to 64 letters, digits, _, . or -"

    /// Takes a text that keeps the rule, nil otherwise.
    public init?(validating text: String) {
        guard IdentifierRules.isTypeName(text, longest: 64) else { return nil }
        self.text = text
    }
}
