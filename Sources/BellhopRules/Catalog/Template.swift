/// Words with gaps: `{amount} sendt til {country}`.
///
/// A gap is filled from the event, or the whole is refused; a sentence with a hole in it never leaves the house.
///
/// `{name}` is the value of that name in `data` (`{payment.amount}` looks inside an object), `{targetId}` and
/// `{venueId}` are the event's own, and a catalogue may give any of these another name. `{{` and `}}` are braces.
public struct Template: Hashable, Sendable {
    /// Where a gap's value comes from.
    enum Source: Hashable {
        case targetID
        case venueID
        case data([String])

        init(name: String) {
            switch name {
            case EventField.targetId.rawValue: self = .targetID
            case EventField.venueId.rawValue: self = .venueID
            default: self = .data(name.split(separator: ".").map(String.init))
            }
        }

        var pointer: JSONPointer {
            switch self {
            case .targetID: JSONPointer.root.key(EventField.targetId.rawValue)
            case .venueID: JSONPointer.root.key(EventField.venueId.rawValue)
            case .data(let path): path.reduce(JSONPointer.root.key(EventField.data.rawValue)) { $0.key($1) }
            }
        }

        func value(in content: TemplateValues) -> JSONValue? {
            switch self {
            case .targetID: content.targetID.map(JSONValue.string)
            case .venueID: content.venueID.map(JSONValue.string)
            case .data(let path): path.reduce(JSONValue.object(content.data) as JSONValue?) { $0?[$1] }
            }
        }
    }

    enum Segment: Hashable {
        case words(String)
        case gap(Source)
    }

    /// How a value is written into its gap.
    enum Quoting {
        /// As it is.
        case plain
        /// Percent-encoded, so that a value cannot add a path or a parameter to a link.
        case link
    }

    let segments: [Segment]

    /// Fills the gaps.
    ///
    /// Strings are taken as they are, numbers as they were written; nothing else makes a good word.
    func filled(from content: TemplateValues, quoting: Quoting = .plain) throws(FieldFault) -> String {
        var text = ""
        for segment in segments {
            switch segment {
            case .words(let words): text += words
            case .gap(let source): text += try Self.word(source, content, quoting)
            }
        }
        return text
    }

    private static func word(
        _ source: Source,
        _ content: TemplateValues,
        _ quoting: Quoting
    ) throws(FieldFault) -> String {
        let word: String
        switch source.value(in: content) {
        case .string(let text)? where !text.isEmpty: word = text
        case .number(let number)?: word = number.text
        case let value?: throw FieldFault(at: source.pointer, expected: "a string or a number", found: value)
        case nil:
            throw FieldFault(.invalidField, at: source.pointer, "the app's template needs this value, found nothing")
        }
        return quoting == .link ? percentEncoded(word) : word
    }

    private static func percentEncoded(_ word: String) -> String {
        var encoded: [UInt8] = []
        for byte in word.utf8 {
            let isUnreserved =
                IdentifierRules.isLetter(byte) || IdentifierRules.isDigit(byte) || "-._~".utf8.contains(byte)
            if isUnreserved {
                encoded.append(byte)
            } else {
                encoded += [UInt8(ascii: "%")] + (byte < 16 ? "0" : "").utf8
                encoded += String(byte, radix: 16, uppercase: true).utf8
            }
        }
        return String(decoding: encoded, as: UTF8.self)
    }
}
