/// A JSON value that preserves its source: numbers keep their digits, and objects keep the order of their keys.
///
/// Equality compares content. Objects compare without regard to order, and numbers by their source text (`1` and `1.0`
/// differ). Strings and keys compare byte by byte, because Swift's string equality treats two different encodings of an
/// accented letter as equal.
public enum JSONValue: Sendable {
    /// `null`.
    case null
    /// `true` or `false`.
    case bool(Bool)
    /// A number, with its digits as written.
    case number(JSONNumber)
    /// A string.
    ///
    /// It may contain U+0000, which the validation must reject.
    case string(String)
    /// An array.
    case array([JSONValue])
    /// An object with unique keys.
    case object(JSONObject)

    /// The kind of value, in the terms of JSON Schema.
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

    /// The kind of value with its article, for messages; never contains the value.
    package var describedKind: String {
        switch self {
        case .null: "null"
        case .bool: "a boolean"
        case .number: "a number"
        case .string(let text): text.isEmpty ? "an empty string" : "a different string"
        case .array: "an array"
        case .object: "an object"
        }
    }

    /// The string; `nil` if the value is of another kind.
    public var string: String? {
        guard case .string(let text) = self else { return nil }
        return text
    }

    /// The object; `nil` if the value is of another kind.
    public var object: JSONObject? {
        guard case .object(let object) = self else { return nil }
        return object
    }

    /// The elements of the array; `nil` if the value is of another kind.
    public var array: [JSONValue]? {
        guard case .array(let elements) = self else { return nil }
        return elements
    }

    /// The Boolean; `nil` if the value is of another kind.
    public var bool: Bool? {
        guard case .bool(let value) = self else { return nil }
        return value
    }

    /// The number; `nil` if the value is of another kind.
    public var number: JSONNumber? {
        guard case .number(let number) = self else { return nil }
        return number
    }

    /// The value of a key; `nil` if this is not an object or the key is absent.
    public subscript(key: String) -> JSONValue? { object?[key] }
}

extension JSONValue: Equatable {
    /// Returns whether both values have the same content, as the type's description defines it.
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
    /// Hashes consistently with equality: the order of an object's members does not matter.
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

/// Allows JSON as Swift literals, such as `["amount": "2 000 kr", "retries": 3]`; `null` is `.null`.
extension JSONValue: ExpressibleByStringLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    /// Creates a string.
    public init(stringLiteral text: String) { self = .string(text) }
    /// Creates a Boolean.
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    /// Creates a whole number.
    public init(integerLiteral value: Int64) { self = .number(JSONNumber(value)) }
    /// Creates an array.
    public init(arrayLiteral elements: JSONValue...) { self = .array(elements) }

    /// Creates an object; the last value of a repeated key is used.
    public init(dictionaryLiteral pairs: (String, JSONValue)...) {
        self = .object(JSONObject(pairs))
    }
}

extension JSONObject: ExpressibleByDictionaryLiteral {
    /// Creates an object; the last value of a repeated key is used.
    public init(dictionaryLiteral pairs: (String, JSONValue)...) { self.init(pairs) }
}

/// Makes values for the answers that programs read.
extension JSONValue {
    /// Creates a whole number.
    package static func int(_ number: Int) -> JSONValue { .number(JSONNumber(Int64(number))) }

    /// Creates a whole number.
    package static func int(_ number: Int64) -> JSONValue { .number(JSONNumber(number)) }

    /// Creates a string, or `null` if there is none.
    package static func optional(_ text: String?) -> JSONValue {
        text.map(JSONValue.string) ?? .null
    }

    /// Creates a whole number, or `null` if there is none.
    package static func optional(_ number: Int?) -> JSONValue {
        number.map(JSONValue.int) ?? .null
    }

    /// Creates an object whose keys are unique and keep the given order.
    package static func members(_ pairs: [(String, JSONValue)]) -> JSONValue {
        .object(JSONObject(unique: pairs.map { JSONObject.Member(key: $0, value: $1) }))
    }

    /// The value as JSON without white space, with the members of objects in their own order.
    package var written: String {
        var bytes: [UInt8] = []
        write(into: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    private func write(into bytes: inout [UInt8]) {
        switch self {
        case .null: bytes += "null".utf8
        case .bool(let value): bytes += (value ? "true" : "false").utf8
        case .number(let number): bytes += number.text.utf8
        case .string(let text): JSONWriter.write(text, into: &bytes)
        case .array(let elements):
            bytes.append(UInt8(ascii: "["))
            for (index, element) in elements.enumerated() {
                if index > 0 { bytes.append(UInt8(ascii: ",")) }
                element.write(into: &bytes)
            }
            bytes.append(UInt8(ascii: "]"))
        case .object(let object):
            bytes.append(UInt8(ascii: "{"))
            for (index, member) in object.members.enumerated() {
                if index > 0 { bytes.append(UInt8(ascii: ",")) }
                JSONWriter.write(member.key, into: &bytes)
                bytes.append(UInt8(ascii: ":"))
                member.value.write(into: &bytes)
            }
            bytes.append(UInt8(ascii: "}"))
        }
    }
}
