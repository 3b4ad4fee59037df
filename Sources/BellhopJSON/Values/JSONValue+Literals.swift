/// JSON can be written down in Swift: `["amount": "2 000 kr", "retries": 3]`; `null` is `.null`.
extension JSONValue: ExpressibleByStringLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    /// A string.
    public init(stringLiteral text: String) { self = .string(text) }
    /// A truth value.
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    /// A whole number.
    public init(integerLiteral value: Int64) { self = .number(JSONNumber(value)) }
    /// An array.
    public init(arrayLiteral elements: JSONValue...) { self = .array(elements) }

    /// An object; of a repeated key, the last value stays.
    public init(dictionaryLiteral pairs: (String, JSONValue)...) {
        self = .object(JSONObject(pairs))
    }
}

extension JSONObject: ExpressibleByDictionaryLiteral {
    /// An object; of a repeated key, the last value stays.
    public init(dictionaryLiteral pairs: (String, JSONValue)...) {
        self.init(pairs)
    }
}
