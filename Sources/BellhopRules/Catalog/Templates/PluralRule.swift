/// The categories into which languages sort numbers, with their CLDR names.
enum PluralCategory: String, CaseIterable, Hashable {
    case zero, one, two, few, many, other
}

/// The properties of a number that plural rules use, from Unicode Technical Standard 35.
struct PluralOperands {
    /// The digits before the decimal point.
    ///
    /// The value is exact up to 15 digits. Beyond that, it is a large number with the same last six digits.
    let i: Int
    /// The number of digits after the decimal point.
    let v: Int
    /// The last two of the digits after the decimal point, and whether any of these digits is not zero.
    let f: Int
    let hasFraction: Bool
    /// The last two of the digits after the decimal point, without trailing zeros.
    let t: Int

    init(_ number: DecimalText) {
        func value(_ digits: some Collection<UInt8>) -> Int { digits.reduce(0) { $0 * 10 + Int($1 & 0x0F) } }
        let integer = number.integer
        i = integer.count <= 15 ? value(integer) : 1_000_000_000_000_000 + value(integer.suffix(6))
        v = number.fraction.count
        f = value(number.fraction.suffix(2))
        let kept = number.fraction.lastIndex { $0 != UInt8(ascii: "0") }.map { $0 + 1 } ?? 0
        hasFraction = kept > 0
        t = value(number.fraction.prefix(kept).suffix(2))
    }

    /// The value of a whole number; `nil` if a digit after the decimal point is not zero.
    var n: Int? { hasFraction ? nil : i }
}

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
        for (rule, languages) in languages { for language in languages { rules[language] = rule } }
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

/// The rules in the notation of the CLDR.
///
/// `i` is the digits before the decimal point, and `v` is the number of digits after it. `f` and `t` are the digits
/// after it with and without trailing zeros. `n` is the value if it is whole.
extension PluralRule {
    /// Returns the category of a number; the sign is ignored.
    func category(of number: PluralOperands) -> PluralCategory {
        switch self {
        case .always: .other
        case .oneIsWhole: number.i == 1 && number.v == 0 ? .one : .other
        case .oneIsValue: number.n == 1 ? .one : .other
        case .danish: number.n == 1 || number.hasFraction && number.i <= 1 ? .one : .other
        case .icelandic: Self.icelandic(number)
        case .french, .portuguese: number.i <= 1 ? .one : Self.millions(number)
        case .spanish: number.n == 1 ? .one : Self.millions(number)
        case .italian: number.i == 1 && number.v == 0 ? .one : Self.millions(number)
        case .polish: Self.polish(number)
        case .czech: Self.czech(number)
        case .russian: Self.russian(number)
        case .croatian: Self.croatian(number)
        case .slovenian: Self.slovenian(number)
        case .lithuanian: Self.lithuanian(number)
        case .latvian: Self.latvian(number)
        case .romanian: Self.romanian(number)
        case .hebrew: Self.hebrew(number)
        case .arabic: Self.arabic(number)
        }
    }

    private static func millions(_ number: PluralOperands) -> PluralCategory {
        number.i != 0 && number.i % 1_000_000 == 0 && number.v == 0 ? .many : .other
    }

    /// Returns whether the number ends in 1, but not in 11.
    private static func endsInOne(_ digits: Int) -> Bool { digits % 10 == 1 && digits % 100 != 11 }

    /// Returns whether the number ends in 2 to 4, but not in 12 to 14.
    private static func endsInFew(_ digits: Int) -> Bool {
        (2...4).contains(digits % 10) && !(12...14).contains(digits % 100)
    }

    private static func icelandic(_ number: PluralOperands) -> PluralCategory {
        number.hasFraction ? (endsInOne(number.t) ? .one : .other) : (endsInOne(number.i) ? .one : .other)
    }

    private static func polish(_ number: PluralOperands) -> PluralCategory {
        guard number.v == 0 else { return .other }
        if number.i == 1 { return .one }
        return endsInFew(number.i) ? .few : .many
    }

    private static func czech(_ number: PluralOperands) -> PluralCategory {
        guard number.v == 0 else { return .many }
        if number.i == 1 { return .one }
        return (2...4).contains(number.i) ? .few : .other
    }

    private static func russian(_ number: PluralOperands) -> PluralCategory {
        guard number.v == 0 else { return .other }
        if endsInOne(number.i) { return .one }
        return endsInFew(number.i) ? .few : .many
    }

    private static func croatian(_ number: PluralOperands) -> PluralCategory {
        let digits = number.v == 0 ? number.i : number.f
        if endsInOne(digits) { return .one }
        return endsInFew(digits) ? .few : .other
    }

    private static func slovenian(_ number: PluralOperands) -> PluralCategory {
        guard number.v == 0 else { return .few }
        switch number.i % 100 {
        case 1: return .one
        case 2: return .two
        case 3, 4: return .few
        default: return .other
        }
    }

    private static func lithuanian(_ number: PluralOperands) -> PluralCategory {
        guard let n = number.n else { return .many }
        guard !(11...19).contains(n % 100) else { return .other }
        switch n % 10 {
        case 1: return .one
        case 2...9: return .few
        default: return .other
        }
    }

    private static func latvian(_ number: PluralOperands) -> PluralCategory {
        if let n = number.n {
            if n % 10 == 0 || (11...19).contains(n % 100) { return .zero }
            if endsInOne(n) { return .one }
        }
        if number.v == 2 {
            if (11...19).contains(number.f) { return .zero }
            return endsInOne(number.f) ? .one : .other
        }
        return number.f % 10 == 1 ? .one : .other
    }

    private static func romanian(_ number: PluralOperands) -> PluralCategory {
        if number.v != 0 || number.i == 0 { return .few }
        if number.i == 1 { return .one }
        return (1...19).contains(number.i % 100) ? .few : .other
    }

    private static func hebrew(_ number: PluralOperands) -> PluralCategory {
        if number.v == 0 ? number.i == 1 : number.i == 0 { return .one }
        return number.v == 0 && number.i == 2 ? .two : .other
    }

    private static func arabic(_ number: PluralOperands) -> PluralCategory {
        switch number.n {
        case nil: return .other
        case 0?: return .zero
        case 1?: return .one
        case 2?: return .two
        case let n?:
            if (3...10).contains(n % 100) { return .few }
            return (11...99).contains(n % 100) ? .many : .other
        }
    }
}
