/// A user of an app, in the app's own words.
public struct UserID: TextIdentifier {
    /// The identifier as it is written.
    public let text: String

    /// What an identifier of this kind looks like.
    public static let rule = "1 to 255 bytes without control characters"

    /// Takes a text that keeps the rule, nil otherwise.
    public init?(validating text: String) {
        guard IdentifierRules.isPlain(text, longest: 255) else { return nil }
        self.text = text
    }
}
