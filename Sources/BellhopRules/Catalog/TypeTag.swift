/// The id of a tag, which groups types in a list's filters.
public struct TypeTag: TextIdentifier {
    /// The identifier's text.
    public let text: String

    /// The required form of the identifier.
    public static let rule = "1 to 32 letters, digits, _ or -"

    /// Creates the value from text; `nil` if the text violates the rule.
    public init?(validating text: String) {
        guard IdentifierRules.isTypeName(text, longest: 32), !text.utf8.contains(UInt8(ascii: ".")) else { return nil }
        self.text = text
    }
}

/// A tag of a catalogue.
public struct CatalogTag: Sendable {
    /// The maximum number of tags of an app.
    static let most = 10
    /// The maximum number of tags of a type.
    static let mostOfType = 5

    /// The id, which types name.
    public let id: TypeTag
    /// The name of the filter, by language; always includes the app's own language.
    public let labels: [LanguageTag: String]
}

extension Catalog {
    /// Returns the types with a tag, in the catalogue's order; `nil` if the catalogue has no such tag.
    package func types(with tag: TypeTag) -> [EventType]? {
        guard tags.contains(where: { $0.id == tag }) else { return nil }
        return types.filter { $0.tags.contains(tag) }.map(\.type)
    }
}
