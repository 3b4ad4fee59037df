/// An e-mail address by its shape alone; nothing that could begin a new mail header gets in.
public struct EmailAddress: TextIdentifier {
    /// The identifier as it is written.
    public let text: String

    /// What an identifier of this kind looks like.
    public static let rule = "at most 254 bytes: a local part without %, ! and spaces, one @, a domain name with a dot"

    /// Takes a text that keeps the rule, nil otherwise.
    public init?(validating text: String) {
        guard IdentifierRules.isEmailAddress(text) else { return nil }
        self.text = text
    }
}
