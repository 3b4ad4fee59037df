/// The words of something in each of its languages.
struct LanguageSet: Hashable {
    /// The words of a notification in one language.
    struct Words: Hashable {
        let language: LanguageTag
        let title: Template
        let body: Template?
        /// What is said where those lack a value.
        let plain: PlainWords?
    }

    /// Words that do without what may be missing.
    struct PlainWords: Hashable {
        let title: Template
        let body: Template?
    }

    /// Empty where producers bring the words.
    let all: [Words]

    /// The words for a reader: their language with its region, their language, one that they read as well, the app's
    /// own.
    func words(for language: LanguageTag?, otherwise fallback: LanguageTag) -> Words? {
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

    /// Other names under which a reader's language may stand, the nearest first: browsers say `no` where phones say `nb`.
    static func kin(of language: Substring) -> [String] {
        switch language {
        case "no": ["nb"]
        case "nb": ["no"]
        case "nn": ["no", "nb"]
        default: []
        }
    }
}
