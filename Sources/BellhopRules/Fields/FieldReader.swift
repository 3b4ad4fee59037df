/// Reads typed fields out of an object; a field that is `null` counts as absent, as serializers write it for that.
struct FieldReader {
    private let object: JSONObject
    private let base: JSONPointer

    init(_ object: JSONObject, at base: JSONPointer) {
        self.object = object
        self.base = base
    }

    subscript(key: String) -> JSONValue? {
        switch object[key] {
        case nil, .null?: nil
        case let value?: value
        }
    }

    /// Where the field stands in the body.
    func place(_ key: String) -> JSONPointer { base.key(key) }

    /// A value that `read` understands; nil where there is none.
    @inline(__always)
    private func value<Value>(
        _ key: String,
        _ expected: @autoclosure () -> String,
        _ read: (JSONValue) -> Value?
    ) throws(FieldFault) -> Value? {
        guard let value = self[key] else { return nil }
        if let understood = read(value) { return understood }
        throw FieldFault(at: place(key), expected: expected(), found: value)
    }

    func identifier<ID: TextIdentifier>(_ key: String, as type: ID.Type = ID.self) throws(FieldFault) -> ID? {
        try value(key, ID.rule) { $0.string.flatMap(ID.init(validating:)) }
    }

    func required<ID: TextIdentifier>(
        _ key: String,
        as type: ID.Type = ID.self,
        or reason: RejectionReason = .invalidField
    ) throws(FieldFault) -> ID {
        guard let id = try identifier(key, as: type) else { throw missing(key, ID.rule, reason) }
        return id
    }

    func missing(_ key: String, _ expected: String, _ reason: RejectionReason = .invalidField) -> FieldFault {
        FieldFault(reason, at: place(key), "expected \(expected), found nothing")
    }

    /// A text of some length, of whatever characters.
    func text(_ key: String, _ length: ClosedRange<Int>) throws(FieldFault) -> String? {
        guard let text = try value(key, "a string", { $0.string }) else { return nil }
        guard text.hasLength(length) else {
            let range = "\(length.lowerBound) to \(length.upperBound)"
            throw FieldFault(.invalidField, at: place(key), "expected \(range) characters")
        }
        return text
    }

    /// A text of one line: not empty, no control characters.
    func line(_ key: String, longest: Int) throws(FieldFault) -> String? {
        guard let text = try text(key, 1...longest) else { return nil }
        guard IdentifierRules.isPlain(text, longest: .max) else {
            throw FieldFault(.invalidField, at: place(key), "expected a text without control characters")
        }
        return text
    }

    func timestamp(_ key: String) throws(FieldFault) -> Timestamp? {
        try value(key, Timestamp.rule) { $0.string.flatMap(Timestamp.init(validating:)) }
    }

    func object(_ key: String) throws(FieldFault) -> JSONObject? { try value(key, "an object") { $0.object } }

    func array(_ key: String) throws(FieldFault) -> [JSONValue]? { try value(key, "an array") { $0.array } }

    func bool(_ key: String) throws(FieldFault) -> Bool? { try value(key, "a boolean") { $0.bool } }

    /// A word out of a closed list.
    func word<Word: RawRepresentable & CaseIterable>(
        _ key: String,
        as type: Word.Type = Word.self
    ) throws(FieldFault) -> Word? where Word.RawValue == String {
        try value(key, JSONScope.oneOf(type)) { $0.string.flatMap(Word.init(rawValue:)) }
    }

    /// What an update says about a field: nothing, `null`, or a value that `read` understands.
    func update<Value>(
        _ key: String,
        _ read: (String) throws(FieldFault) -> Value?
    ) throws(FieldFault) -> FieldUpdate<Value> {
        if object[key] == .null { return .cleared }
        guard let value = try read(key) else { return .unchanged }
        return .set(value)
    }
}

extension String {
    /// Whether the number of code points lies in a range; counts only where the number of bytes does not tell.
    func hasLength(_ range: ClosedRange<Int>) -> Bool {
        let bytes = utf8.count
        if bytes < range.lowerBound { return false }
        if bytes <= range.upperBound && range.lowerBound <= 1 { return true }
        return range.contains(unicodeScalars.count)
    }
}

/// What an update says about one field.
public enum FieldUpdate<Value: Hashable & Sendable>: Hashable, Sendable {
    /// The field is absent: what is stored stays.
    case unchanged
    /// The field is `null`: what is stored goes, and the default holds again.
    case cleared
    /// The field has a value.
    case set(Value)

    /// The new value, where there is one.
    public var value: Value? {
        guard case .set(let value) = self else { return nil }
        return value
    }
}
