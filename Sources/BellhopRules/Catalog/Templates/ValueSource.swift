/// The source of a placeholder's value.
enum ValueSource: Hashable {
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

    func value(in values: TemplateValues) -> JSONValue? {
        switch self {
        case .targetID: return values.targetID.map(JSONValue.string)
        case .venueID: return values.venueID.map(JSONValue.string)
        case .data(let path):
            var value = values.data[path[0]]
            for step in path.dropFirst() { value = value?[step] }
            return value
        }
    }
}

/// A value that a template needs and cannot use.
struct ValueFault: Hashable {
    let source: ValueSource
    /// The expected kind of value.
    let expected: String
    /// The actual kind of value.
    let found: String

    init(_ source: ValueSource, expected: String, found: JSONValue?) {
        self.source = source
        self.expected = expected
        self.found = found?.describedKind ?? "no value"
    }
}

extension FieldFault {
    /// The maximum number of missing values that a message names; the pointer is that of the first.
    private static let namedFaults = 5

    /// Creates the fault for values that a template lacks; `nil` if it lacks none.
    init?(_ faults: [ValueFault]) {
        guard let first = faults.first else { return nil }
        var distinct: [ValueFault] = []
        for fault in faults where !distinct.contains(where: { $0.source == fault.source }) { distinct.append(fault) }
        let place = first.source.pointer
        guard distinct.count > 1 else {
            let message = "the app's template needs \(first.expected) here, found \(first.found)"
            self.init(.invalidField, at: place, message)
            return
        }
        let named = distinct.prefix(Self.namedFaults).map { fault in
            let pointer = fault.source.pointer.text
            return "\(pointer.utf8.count > 48 ? "…" + pointer.suffix(40) : pointer) (found \(fault.found))"
        }
        let rest = distinct.count > named.count ? " and \(distinct.count - named.count) more" : ""
        let message = "the app's template needs \(distinct.count) values: \(named.joined(separator: ", "))\(rest)"
        self.init(.invalidField, at: place, message)
    }
}

/// The values for the placeholders of templates.
struct TemplateValues {
    let data: JSONObject
    var targetID: String?
    var venueID: String?
}

extension TemplateValues {
    init(_ content: EventContent) {
        self.init(data: content.data, targetID: content.targetID, venueID: content.venueID)
    }
}
