/// What a catalogue says of one type of event.
public struct CatalogType: Hashable, Sendable {
    /// The words of a notification in one language.
    struct Words: Hashable {
        let language: LanguageTag
        let title: Template
        let body: Template?
    }

    /// The type.
    public let type: EventType
    /// How much it matters.
    public let priority: Priority
    /// Its name on a settings page, per language; the app's own language is always there.
    public let labels: [LanguageTag: String]
    /// The name of its icon, nil for none.
    public let icon: String?
    /// The icon's colour, `#RRGGBB`.
    public let color: String?
    /// The colour behind the icon, `#RRGGBB`.
    public let background: String?
    /// The notification channel of the Android app that it appears in; nil for the app's default one.
    public let androidChannel: String?
    /// Whether devices are used for a user who has not said anything about this type.
    public let pushByDefault: Bool
    /// Whether e-mail is used for a user who has not said anything about this type.
    public let emailByDefault: Bool
    /// Where a tap leads; nil where the app's own link holds.
    public let link: LinkTemplate?
    let words: [Words]

    /// The words for a reader: their language with its region, their language, the app's own.
    func words(for language: LanguageTag?, otherwise fallback: LanguageTag) -> Words? {
        guard !words.isEmpty else { return nil }
        if let language {
            if let exact = words.first(where: { $0.language == language }) { return exact }
            if let near = words.first(where: { $0.language.text == language.language }) { return near }
        }
        return words.first { $0.language == fallback }
    }
}
