/// A push address of a device as its provider gave it out; a secret that never goes into a log.
public struct DeviceToken: TextIdentifier {
    /// The identifier as it is written.
    public let text: String

    /// What an identifier of this kind looks like.
    public static let rule = "1 to 4096 bytes without control characters"

    /// Takes a text that keeps the rule, nil otherwise.
    public init?(validating text: String) {
        guard IdentifierRules.isPlain(text, longest: 4096) else { return nil }
        self.text = text
    }
}
