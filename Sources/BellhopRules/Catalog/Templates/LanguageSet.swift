/// A text in each of its languages.
struct LanguageSet: Hashable {
    /// The texts of a notification in one language.
    struct Text: Hashable {
        let language: LanguageTag
        let title: Template
        let body: Template?
        /// The texts that are used if the others lack a value.
        let plain: FallbackText?
    }

    /// Texts that do not need the optional values.
    struct FallbackText: Hashable {
        let title: Template
        let body: Template?
    }

    /// The texts of all languages; empty if producers supply the texts.
    let all: [Text]

    /// Returns the texts for a user.
    ///
    /// The candidates are the user's language with its region, the language alone, one that the user can read as well,
    /// and the app's own.
    func words(for language: LanguageTag?, otherwise fallback: LanguageTag) -> Text? {
        guard !all.isEmpty else { return nil }
        if let language {
            if let exact = all.first(where: { $0.language == language }) { return exact }
            if let near = all.first(where: { $0.language.text == language.language }) { return near }
            for name in Self.kin(of: language.language) {
                if let kin = all.first(where: { $0.language.text == name }) { return kin }
            }
        }
        return all.first { $0.language == fallback }
    }

    /// Returns further tags whose texts the user can read, nearest first.
    ///
    /// For Norwegian, browsers send `no` and phones send `nb`.
    static func kin(of language: Substring) -> [String] {
        switch language {
        case "no": ["nb"]
        case "nb": ["no"]
        case "nn": ["no", "nb"]
        default: []
        }
    }
}
