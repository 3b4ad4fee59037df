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
        place(for: language, otherwise: fallback).map { all[$0] }
    }

    /// Returns the index of these texts in ``all``.
    func place(for language: LanguageTag?, otherwise fallback: LanguageTag) -> Int? {
        func place(of name: some StringProtocol) -> Int? {
            all.indices.first { all[$0].language.text.hasSameBytes(as: name) }
        }
        if let language {
            if let exact = place(of: language.text) { return exact }
            if let near = place(of: language.language) { return near }
            for name in Self.kin(of: language.language) {
                if let kin = place(of: name) { return kin }
            }
        }
        return place(of: fallback.text)
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
