/// In which role a user follows a topic, such as `owner`.
public struct FollowRole: TextIdentifier {
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
