/// The source of one value of an event in another application's message.
indirect enum MappedValue: Sendable {
    /// The value at a place.
    case path(MessagePath)
    /// A text with values in it.
    case text(MappedText)
    /// An instant that is a number.
    case instant(MessagePath, InstantUnit)
    /// The first of several sources that the message has.
    case first([MappedValue])
    /// The members of an object.
    case members([(name: String, value: MappedValue)])
    /// A fixed value.
    case constant(JSONValue)

    /// The form that a field requires of a value.
    enum Kind {
        /// A text; a whole number is written as one.
        case text
        /// A list of texts; a single one is a list.
        case texts
        /// An object; a string is read as JSON text.
        case object
        /// The value unchanged.
        case any

        init(_ field: EventField) {
            switch field {
            case .to, .data, .metadata: self = .object
            case .route, .noEmail: self = .any
            case .id, .app, .eventType, .title, .body, .targetId, .venueId, .imageUrl, .sentAtIso, .deliverAt,
                .expiresAt, .collapseKey:
                self = .text
            }
        }

        /// Creates the kind of a member of a field.
        init(_ field: EventField, _ member: String) {
            switch field {
            case .to: self = member == Audience.Key.users.rawValue ? .texts : .text
            case .metadata, .route: self = .text
            default: self = .any
            }
        }

        /// Returns the value in the required form, or as it is if it has another one, which the event's rules reject.
        func form(of value: JSONValue, at path: MessagePath, in message: inout ForeignMessage)
            throws(FieldFault) -> JSONValue
        {
            switch self {
            case .any: value
            case .text: value.asText.map(JSONValue.string) ?? value
            case .texts:
                if case .array(let elements) = value {
                    .array(elements.map { $0.asText.map(JSONValue.string) ?? $0 })
                } else {
                    .array([value.asText.map(JSONValue.string) ?? value])
                }
            case .object: try message.structured(value, at: path)
            }
        }
    }
}

/// The unit of an instant that is a number, counted from the beginning of 1970.
enum InstantUnit: String, CaseIterable, Sendable {
    case seconds = "s"
    case milliseconds = "ms"
    case microseconds = "us"

    var rule: String { "a whole number of \(self)" }

    /// Returns the instant; `nil` if the value is not a whole number within the range of instants.
    func instant(_ value: JSONValue) -> Timestamp? {
        guard let count = value.asText.flatMap(Int64.init) else { return nil }
        let factor: Int64 =
            switch self {
            case .seconds: 1_000_000
            case .milliseconds: 1_000
            case .microseconds: 1
            }
        let (microseconds, isTooLarge) = count.multipliedReportingOverflow(by: factor)
        return isTooLarge ? nil : Timestamp(microseconds: microseconds)
    }
}

/// A text with places of a message in braces, such as `safe:{/chainId}:{/address}`.
struct MappedText: Sendable {
    private enum Part: Sendable {
        case words(String)
        case path(MessagePath)
    }

    /// A value that the message lacks, or that cannot be part of a text.
    struct Missing: Error {
        let path: JSONPointer
    }

    private let parts: [Part]

    /// The limits of a text in a catalogue.
    static let longest = 1_024
    static let mostPaths = 16
    static let rule = "a text with pointers in braces, such as order {/payload/id}"

    /// Creates a text; `nil` if a brace has no partner or contains no pointer.
    init?(_ text: String) {
        guard (1...Self.longest).contains(text.utf8.count), !text.utf8.contains(0) else { return nil }
        var parts: [Part] = []
        var rest = text[...]
        while let open = rest.firstIndex(where: { $0 == "{" || $0 == "}" }) {
            guard rest[open] == "{", let close = rest[open...].firstIndex(of: "}"),
                let pointer = JSONPointer(String(rest[rest.index(after: open)..<close]))
            else { return nil }
            if open > rest.startIndex { parts.append(.words(String(rest[..<open]))) }
            parts.append(.path(MessagePath(pointer)))
            rest = rest[rest.index(after: close)...]
        }
        if !rest.isEmpty { parts.append(.words(String(rest))) }
        self.parts = parts
        guard paths.count <= Self.mostPaths else { return nil }
    }

    private var paths: [MessagePath] { parts.compactMap { if case .path(let path) = $0 { path } else { nil } } }

    var firstPath: JSONPointer? { paths.first?.pointer }

    /// The whole text if it contains no place.
    var constant: String? {
        guard parts.count == 1, case .words(let words) = parts[0] else { return nil }
        return words
    }

    /// Returns the text with the message's values.
    func filled(from message: inout ForeignMessage) throws(FieldFault) -> Result<String, Missing> {
        var text = ""
        for part in parts {
            switch part {
            case .words(let words): text += words
            case .path(let path):
                guard let word = try message.value(at: path)?.asText, !word.isEmpty else {
                    return .failure(Missing(path: path.pointer))
                }
                text += word
            }
        }
        return .success(text)
    }
}

extension JSONValue {
    /// The text of a string or of a whole number.
    fileprivate var asText: String? {
        switch self {
        case .string(let text): text
        case .number(let number): number.int64 == nil ? nil : number.text
        case .null, .bool, .array, .object: nil
        }
    }
}
