/// A device's push address as its provider issued it; a secret that is never logged.
public struct DeviceToken: TextIdentifier {
    /// The identifier's text.
    public let text: String

    /// The required form of the identifier.
    public static let rule = "1 to 4096 bytes without control characters"

    /// Creates the value from text; `nil` if the text violates the rule.
    public init?(validating text: String) {
        guard IdentifierRules.isPlain(text, longest: 4096) else { return nil }
        self.text = text
    }
}
