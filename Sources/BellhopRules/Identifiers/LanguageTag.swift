/// A language such as `nb` or `sv-SE`, in its usual spelling.
///
/// Other spellings of the source (`SV_se`) are converted.
public struct LanguageTag: TextIdentifier {
    /// The tag: language in lower case, region in capitals, parts joined by hyphens.
    public let text: String

    /// The required form of the identifier.
    public static let rule = "a language tag such as nb or sv-SE, at most 35 characters"

    /// Creates the value from text; `nil` if the text violates the rule.
    public init?(validating text: String) {
        guard !IdentifierRules.isPlainLanguage(text) else {
            self.text = text
            return
        }
        guard IdentifierRules.isLanguageTag(text) else { return nil }
        let parts = text.split { $0 == "-" || $0 == "_" }
        let spelled = parts.enumerated().map { index, part in
            index > 0 && part.utf8.count == 2 ? part.uppercased() : part.lowercased()
        }
        self.text = spelled.joined(separator: "-")
    }

    /// The language without region: `sv` of `sv-SE`.
    var language: Substring { text.prefix { $0 != "-" } }
}
