/// Text with placeholders, such as `{amount} sendt til {country}`.
///
/// All placeholders are filled from the event, or the whole text is rejected; incomplete text is never sent.
///
/// The grammar is a subset of ICU's MessageFormat. Templates are parsed once, when the catalogue is loaded:
///
/// - `{name}` is an unchanged value: `{amount}` is `data.amount`, and `{payment.amount}` is a member of an object.
///   `{targetId}` and `{venueId}` are fields of the event. A catalogue may define aliases for all of these.
/// - `{count, plural, =0 {nothing} one {one match} other {# matches}}` chooses by the number and the plural rules of
///   the language; `#` is the number itself.
/// - `{status, select, paid {Paid} other {Open}}` chooses by a string, a number or a flag.
/// - `{n, number}` is a number with the separators of the language.
/// - `{value, units, 18}` and `{value, units, token.decimals, 6}` are a whole number of smallest units. The decimal
///   point is moved to the left by that many digits.
/// - `{address, short}` is the beginning and the end of a long text.
/// - `{name, phrase}` is a phrase that several templates of the catalogue share.
///
/// The chosen texts of plural and select are templates, too. `'{'`, `'}'` and `'#'` are the characters; any other
/// apostrophe is an apostrophe.
public struct Template: Hashable, Sendable {
    /// A piece of a template.
    ///
    /// Large cases are stored indirectly, so that simple templates are processed fast.
    enum Segment: Hashable, Sendable {
        case words(String)
        case gap(ValueSource)
        indirect case number(ValueSource, NumberStyle)
        indirect case units(UnitsPlaceholder)
        case short(ValueSource)
        indirect case plural(PluralPlaceholder)
        indirect case select(SelectPlaceholder)
        /// The number by which the innermost enclosing plural was chosen.
        case count
    }

    /// An amount in smallest units, such as wei.
    struct UnitsPlaceholder: Hashable, Sendable {
        /// The number of digits by which the decimal point moves.
        enum Decimals: Hashable, Sendable {
            case fixed(Int)
            case value(ValueSource)
        }

        let source: ValueSource
        let decimals: Decimals
        /// The maximum number of digits after the decimal point; `nil` for all of them.
        let longest: Int?
        let style: NumberStyle
    }

    /// A choice by number.
    struct PluralPlaceholder: Hashable, Sendable {
        let source: ValueSource
        let rule: PluralRule
        /// The format of the number itself.
        let style: NumberStyle
        /// Texts for particular numbers, which take precedence over the categories.
        let exact: [Int: [Segment]]
        let categories: [PluralCategory: [Segment]]
        let other: [Segment]
    }

    /// A choice by string, number or flag.
    struct SelectPlaceholder: Hashable, Sendable {
        let source: ValueSource
        let choices: [String: [Segment]]
        let other: [Segment]
    }

    /// The encoding of a value in its placeholder.
    enum Quoting {
        /// No encoding.
        case plain
        /// Percent-encoding, so that a value cannot add a path or a parameter to a link.
        case link
    }

    let segments: [Segment]
    /// The number of pieces, including nested ones.
    let size: Int
    /// The nesting depth of texts.
    let depth: Int
    /// The usual number of bytes of a filled text.
    let expectedSize: Int
    /// The whole text if it has no placeholder.
    let plainWords: String?

    init(segments: [Segment]) {
        self.segments = segments
        if segments.count == 1, case .words(let words) = segments[0] { plainWords = words } else { plainWords = nil }
        (size, depth) = Self.measure(segments)
        expectedSize = segments.reduce(0) { size, segment in
            guard case .words(let words) = segment else { return size + 16 }
            return size + words.utf8.count
        }
    }

    /// Returns the number of pieces and the nesting depth of texts.
    private static func measure(_ segments: [Segment]) -> (size: Int, depth: Int) {
        var size = segments.count
        var depth = 0
        for text in segments.flatMap(\.texts) {
            let inner = measure(text)
            size += inner.size
            depth = max(depth, inner.depth + 1)
        }
        return (size, depth)
    }
}

extension Template.Segment {
    /// The texts inside this piece.
    fileprivate var texts: [[Template.Segment]] {
        switch self {
        case .plural(let gap): Array(gap.exact.values) + Array(gap.categories.values)
        case .select(let gap): Array(gap.choices.values)
        default: []
        }
    }
}

/// The names that a template's placeholders may refer to: values and phrases.
struct PlaceholderNames {
    private let aliases: [String: String]
    private let closed: [String]?
    private var phrases: [String: [LanguageTag: Template]] = [:]

    /// Returns the names for an event: its own fields, any members of its data, and the app's aliases for both.
    static func ofEvents(aliases: [String: String]) -> PlaceholderNames {
        PlaceholderNames(aliases: aliases, closed: nil)
    }

    /// Returns a closed list of names.
    static func of(_ names: [String]) -> PlaceholderNames {
        PlaceholderNames(aliases: [:], closed: names)
    }

    private init(aliases: [String: String], closed: [String]?) {
        self.aliases = aliases
        self.closed = closed
    }

    mutating func add(phrase name: String, _ language: LanguageTag, _ template: Template) {
        phrases[name, default: [:]][language] = template
    }

    /// Returns whether the name consists of letters, digits, `_` and `-`, with dots between steps.
    static func isName(_ name: String) -> Bool {
        guard !name.isEmpty, name.utf8.count <= 128 else { return false }
        let steps = name.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        return steps.allSatisfy { !$0.isEmpty && $0.allSatisfy(isNameByte) }
    }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        IdentifierRules.isLetter(byte) || IdentifierRules.isDigit(byte) || "_-".utf8.contains(byte)
    }

    func source(of name: String) throws(TemplateFault) -> ValueSource {
        guard Self.isName(name) else {
            throw TemplateFault("a placeholder is a name of letters, digits, _ and -, with dots between steps")
        }
        if let closed, !closed.contains(name) {
            throw TemplateFault("there is no value \(name) here; known are \(closed.joined(separator: ", "))")
        }
        return ValueSource(name: aliases[name] ?? name)
    }

    func phrase(_ name: String, _ language: LanguageTag) throws(TemplateFault) -> Template {
        guard let words = phrases[name] else {
            let known = phrases.keys.sorted().joined(separator: ", ")
            let advice = known.isEmpty ? "there is none" : "known are \(known)"
            throw TemplateFault("no phrase of this name stands above; \(advice)")
        }
        let near = words.first { $0.key.text == language.language }
        guard let phrase = words[language] ?? near?.value else {
            throw TemplateFault("the phrase \(name) has no words in \(language)")
        }
        return phrase
    }
}

/// The reason why a template cannot be read.
struct TemplateFault: Error {
    let message: String

    init(_ message: String) { self.message = message }
}
