/// Words with gaps: `{amount} sendt til {country}`.
///
/// A gap is filled from the event, or the whole is refused; a sentence with a hole in it never leaves the house.
///
/// The grammar is a part of ICU's MessageFormat, read once when the catalogue is:
///
/// - `{name}` is a value as it is: `{amount}` is `data.amount`, `{payment.amount}` looks inside an object,
///   `{targetId}` and `{venueId}` are the event's own, and a catalogue may give any of these another name.
/// - `{count, plural, =0 {nothing} one {one match} other {# matches}}` chooses by the number and the plural rules of the
///   language; `#` is the number itself.
/// - `{status, select, paid {Paid} other {Open}}` chooses by a word.
/// - `{n, number}` is a number with the separators of the language.
/// - `{value, units, 18}` and `{value, units, token.decimals, 6}` are a whole number of smallest units, shown with its
///   point that many digits further left.
/// - `{address, short}` is the beginning and the end of something long.
/// - `{name, phrase}` is a phrase that several templates of the catalogue share.
///
/// The chosen texts of plural and select are templates themselves. `'{'`, `'}'` and `'#'` are the characters; any other
/// apostrophe is an apostrophe.
public struct Template: Hashable, Sendable {
    /// A piece of a template; what is large is kept apart, so that simple templates are quickly walked through.
    enum Segment: Hashable, Sendable {
        case words(String)
        case gap(ValueSource)
        indirect case number(ValueSource, NumberStyle)
        indirect case units(UnitsGap)
        case short(ValueSource)
        indirect case plural(PluralGap)
        indirect case select(SelectGap)
        /// The number that the nearest plural around it has chosen by.
        case count
    }

    /// An amount in smallest units, such as wei.
    struct UnitsGap: Hashable, Sendable {
        /// How far the point moves.
        enum Decimals: Hashable, Sendable {
            case fixed(Int)
            case value(ValueSource)
        }

        let source: ValueSource
        let decimals: Decimals
        /// How many digits are shown after the point; nil for all of them.
        let longest: Int?
        let style: NumberStyle
    }

    /// A choice by number.
    struct PluralGap: Hashable, Sendable {
        let source: ValueSource
        let rule: PluralRule
        /// How the number itself is written.
        let style: NumberStyle
        /// Texts for particular numbers, which go before the categories.
        let exact: [Int: [Segment]]
        let categories: [PluralCategory: [Segment]]
        let other: [Segment]
    }

    /// A choice by word.
    struct SelectGap: Hashable, Sendable {
        let source: ValueSource
        let choices: [String: [Segment]]
        let other: [Segment]
    }

    /// How a value is written into its gap.
    enum Quoting {
        /// As it is.
        case plain
        /// Percent-encoded, so that a value cannot add a path or a parameter to a link.
        case link
    }

    let segments: [Segment]
    /// How many pieces there are, those inside of others counted.
    let size: Int
    /// How many texts stand inside one another.
    let depth: Int
    /// Bytes of the words outside the gaps.
    private let wordCount: Int
    /// The whole of it, where it has no gap.
    private let plainWords: String?

    init(segments: [Segment]) {
        self.segments = segments
        if segments.count == 1, case .words(let words) = segments[0] { plainWords = words } else { plainWords = nil }
        (size, depth) = Self.measure(segments)
        wordCount = segments.reduce(0) { count, segment in
            guard case .words(let words) = segment else { return count }
            return count + words.utf8.count
        }
    }

    /// Fills the gaps; where values are missing or unusable, the text is worth nothing and `faults` says which these
    /// are.
    func filled(from values: TemplateValues, quoting: Quoting = .plain, _ faults: inout [ValueFault]) -> String {
        if let plainWords { return plainWords }
        var filler = TemplateFiller(values: values, quoting: quoting, expecting: wordCount + 16 * segments.count)
        filler.fill(segments)
        if !filler.faults.isEmpty { faults += filler.faults }
        return filler.text
    }
}

extension Template {
    /// Pieces, and texts inside one another.
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
