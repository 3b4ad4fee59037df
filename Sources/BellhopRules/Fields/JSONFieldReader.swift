/// Reads typed fields of an object.
///
/// A field that is `null` counts as absent, because serializers write absent values like this.
struct JSONFieldReader {
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

    /// Returns the place of the field in the body.
    func place(_ key: String) -> JSONPointer { base.key(key) }

    /// Returns the value if `read` accepts it; `nil` if the field is absent.
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
        FieldFault(reason, at: place(key), "expected \(expected), found no value")
    }

    /// Reads a text with a length in a range, with any characters.
    func text(_ key: String, _ length: ClosedRange<Int>) throws(FieldFault) -> String? {
        guard let text = try value(key, "a string", { $0.string }) else { return nil }
        guard text.hasLength(length) else {
            let range = "\(length.lowerBound) to \(length.upperBound)"
            throw FieldFault(.invalidField, at: place(key), "expected \(range) characters")
        }
        return text
    }

    /// Reads a text of one line, which is not empty and has no control characters.
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

    /// Reads a value from a closed list.
    func word<Word: RawRepresentable & CaseIterable>(
        _ key: String,
        as type: Word.Type = Word.self
    ) throws(FieldFault) -> Word? where Word.RawValue == String {
        try value(key, JSONScope.oneOf(type)) { $0.string.flatMap(Word.init(rawValue:)) }
    }

    /// Reads the update of a field: unchanged, `null`, or a value that `read` accepts.
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
    /// Returns whether the number of code points is in a range.
    ///
    /// Code points are counted only if the number of bytes is not conclusive.
    func hasLength(_ range: ClosedRange<Int>) -> Bool {
        let bytes = utf8.count
        if bytes < range.lowerBound { return false }
        if bytes <= range.upperBound && range.lowerBound <= 1 { return true }
        return range.contains(unicodeScalars.count)
    }
}

/// The update of one field.
public enum FieldUpdate<Value: Hashable & Sendable>: Hashable, Sendable {
    /// The field is absent; the stored value stays.
    case unchanged
    /// The field is `null`; the stored value is removed, and the default applies again.
    case cleared
    /// The field has a value.
    case set(Value)

    /// The new value, if there is one.
    public var value: Value? {
        guard case .set(let value) = self else { return nil }
        return value
    }
}
