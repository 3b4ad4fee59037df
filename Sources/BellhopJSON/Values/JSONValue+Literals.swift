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
    public init(dictionaryLiteral pairs: (String, JSONValue)...) {
        self.init(pairs)
    }
}
