/// A JSON value that loses nothing of its source: numbers keep their digits, objects keep the order of their keys.
///
/// Two values are equal when they say the same: objects compare without regard to order, strings and keys byte by byte
/// (Swift's own string equality would take two different spellings of an accented letter for one), numbers by their
/// source text (`1` and `1.0` differ).
public enum JSONValue: Sendable {
    /// `null`.
    case null
    /// `true` or `false`.
    case bool(Bool)
    /// A number, with its digits as they were written.
    case number(JSONNumber)
    /// A string; may contain U+0000, which whoever validates has to refuse.
    case string(String)
    /// An array.
    case array([JSONValue])
    /// An object with unique keys.
    case object(JSONObject)

    /// The kind of value, in the words of JSON Schema.
    public var typeName: String {
        switch self {
        case .null: "null"
        case .bool: "boolean"
        case .number: "number"
        case .string: "string"
        case .array: "array"
        case .object: "object"
        }
    }

    /// The kind of value with its article, for messages; never the value.
    package var describedKind: String {
        switch self {
        case .null: "null"
        case .bool: "a boolean"
        case .number: "a number"
        case .string(let text): text.isEmpty ? "an empty string" : "a string of another form"
        case .array: "an array"
        case .object: "an object"
        }
    }

    /// The string, when this is one.
    public var string: String? {
        guard case .string(let text) = self else { return nil }
        return text
    }

    /// The object, when this is one.
    public var object: JSONObject? {
        guard case .object(let object) = self else { return nil }
        return object
    }

    /// The elements, when this is an array.
    public var array: [JSONValue]? {
        guard case .array(let elements) = self else { return nil }
        return elements
    }

    /// The truth value, when this is one.
    public var bool: Bool? {
        guard case .bool(let value) = self else { return nil }
        return value
    }

    /// The number, when this is one.
    public var number: JSONNumber? {
        guard case .number(let number) = self else { return nil }
        return number
    }

    /// The value of a key, when this is an object that has it.
    public subscript(key: String) -> JSONValue? { object?[key] }
}

extension JSONValue: Equatable {
    /// Whether both say the same; see the type's own description.
    public static func == (left: JSONValue, right: JSONValue) -> Bool {
        switch (left, right) {
        case (.null, .null): true
        case (.bool(let left), .bool(let right)): left == right
        case (.number(let left), .number(let right)): left == right
        case (.string(let left), .string(let right)): left.hasSameBytes(as: right)
        case (.array(let left), .array(let right)): left == right
        case (.object(let left), .object(let right)): left == right
        default: false
        }
    }
}

extension JSONValue: Hashable {
    /// Agrees with equality: an object's members count without their order.
    public func hash(into hasher: inout Hasher) {
        switch self {
        case .null: hasher.combine(0)
        case .bool(let value): hasher.combine(value)
        case .number(let number): hasher.combine(number)
        case .string(let text): ByteKey(text: text).hash(into: &hasher)
        case .array(let elements): hasher.combine(elements)
        case .object(let object): hasher.combine(object)
        }
    }
}
