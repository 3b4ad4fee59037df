/// The app a message belongs to: the first word of its routing key and of every primary key.
public struct AppID: TextIdentifier {
    /// The identifier as it is written.
    public let text: String

    /// What an identifier of this kind looks like.
    public static let rule = "a lower-case letter, then at most 31 lower-case letters, digits, _ or -"

    /// Takes a text that keeps the rule, nil otherwise.
    public init?(validating text: String) {
        guard IdentifierRules.isAppName(text) else { return nil }
        self.text = text
    }
}
