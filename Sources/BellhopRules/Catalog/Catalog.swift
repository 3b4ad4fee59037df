/// An app as its catalogue file describes it.
public struct Catalog: Hashable, Sendable {
    /// The app.
    public let app: AppID
    /// The language of users who have none, and the one in which all words exist.
    public let language: LanguageTag
    /// The zone of users who have none.
    public let timezone: TimeZoneName
    /// Where a tap leads when neither the event nor its type says so, or when the type's link lacks a value.
    public let link: LinkTemplate?
    /// The types in the order of the file, which is that of a settings page.
    public let types: [CatalogType]
    private let positions: [EventType: Int]

    init(app: AppID, language: LanguageTag, timezone: TimeZoneName, link: LinkTemplate?, types: [CatalogType]) {
        self.app = app
        self.language = language
        self.timezone = timezone
        self.link = link
        self.types = types
        positions = Dictionary(types.enumerated().map { ($1.type, $0) }, uniquingKeysWith: { first, _ in first })
    }

    /// What the catalogue says of a type, nil when it does not know it.
    public subscript(type: EventType) -> CatalogType? {
        positions[type].map { types[$0] }
    }

    /// Whether the catalogue has a type; cheaper than looking it up.
    func knows(_ type: EventType) -> Bool { positions[type] != nil }
}
