/// A language such as `nb` or `sv-SE`; an underscore counts as a hyphen.
public struct LanguageTag: TextIdentifier {
    /// The identifier as it is written.
    public let text: String

    /// What an identifier of this kind looks like.
    public static let rule = "a language tag such as nb or sv-SE, at most 35 characters"

    /// Takes a text that keeps the rule, nil otherwise.
    public init?(validating text: String) {
        guard IdentifierRules.isLanguageTag(text) else { return nil }
        self.text = text
    }
}
