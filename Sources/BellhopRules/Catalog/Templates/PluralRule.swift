/// The cardinal plural rules of the CLDR, one case for each group of languages that share them.
///
/// A language without a group has `one` for 1 and `other` for all other numbers.
enum PluralRule: CaseIterable, Hashable {
    case always
    case oneIsWhole
    case oneIsValue
    case danish
    case icelandic
    case french
    case spanish
    case italian
    case portuguese
    case polish
    case czech
    case russian
    case croatian
    case slovenian
    case lithuanian
    case latvian
    case romanian
    case hebrew
    case arabic

    /// The languages of each group.
    static let languages: [PluralRule: [String]] = [
        .always: ["id", "ja", "ko", "th", "vi", "zh"],
        .oneIsWhole: ["de", "en", "et", "fi", "nl", "sv"],
        .oneIsValue: ["bg", "el", "hu", "nb", "nn", "no", "tr"],
        .danish: ["da"],
        .icelandic: ["is"],
        .french: ["fr"],
        .spanish: ["es"],
        .italian: ["it", "pt-PT"],
        .portuguese: ["pt"],
        .polish: ["pl"],
        .czech: ["cs", "sk"],
        .russian: ["ru", "uk"],
        .croatian: ["bs", "hr", "sr"],
        .slovenian: ["sl"],
        .lithuanian: ["lt"],
        .latvian: ["lv"],
        .romanian: ["ro"],
        .hebrew: ["he"],
        .arabic: ["ar"],
    ]

    private static let rules: [String: PluralRule] = {
        var rules: [String: PluralRule] = [:]
        for (rule, languages) in languages {
            for language in languages { rules[language] = rule }
        }
        return rules
    }()

    init(_ tag: LanguageTag) {
        self = Self.rules[tag.text] ?? Self.rules[String(tag.language)] ?? .oneIsWhole
    }

    /// The categories that numbers of this group can have.
    var categories: [PluralCategory] {
        switch self {
        case .always: [.other]
        case .oneIsWhole, .oneIsValue, .danish, .icelandic: [.one, .other]
        case .french, .spanish, .italian, .portuguese: [.one, .many, .other]
        case .polish, .czech, .russian, .lithuanian: [.one, .few, .many, .other]
        case .croatian, .romanian: [.one, .few, .other]
        case .slovenian: [.one, .two, .few, .other]
        case .latvian: [.zero, .one, .other]
        case .hebrew: [.one, .two, .other]
        case .arabic: [.zero, .one, .two, .few, .many, .other]
        }
    }
}
