/// A JSON object as its canonical text, for objects that are stored and passed on as a whole.
package struct CanonicalObject: Sendable, Hashable {
    /// The text, as ``JSONWriter`` writes it.
    package let bytes: [UInt8]

    /// The object without members.
    package static let empty = CanonicalObject(JSONObject())

    /// Whether there are no members.
    package var isEmpty: Bool { bytes.count <= 2 }

    package init(_ object: JSONObject) { bytes = object.canonicalBytes }

    /// Creates an object from its canonical text.
    init(canonical bytes: [UInt8]) { self.bytes = bytes }

    /// Reads an object; `nil` for other JSON and for text that the parser rejects.
    ///
    /// Canonical text is only copied. Any other text is parsed and written again.
    package init?(_ text: UnsafeRawBufferPointer, limits: JSONParser.Limits = .event) {
        if text.withMemoryRebound(to: UInt8.self, { CanonicalText.isObject($0, within: limits) }) {
            bytes = [UInt8](text)
        } else {
            guard case .success(.object(let object)) = JSONParser(limits: limits).parse(text) else { return nil }
            bytes = object.canonicalBytes
        }
    }

    /// The members, which are parsed at each call.
    package var object: JSONObject {
        guard case .success(.object(let object)) = JSONParser(limits: .work).parse(bytes) else { return JSONObject() }
        return object
    }
}

extension CanonicalObject: ExpressibleByDictionaryLiteral {
    /// Creates an object; the last value of a repeated key is used.
    package init(dictionaryLiteral pairs: (String, JSONValue)...) { self.init(JSONObject(pairs)) }
}

extension JSONBuffer {
    /// Writes a member with an object.
    package mutating func append(_ name: StaticString, _ object: CanonicalObject) {
        begin(name)
        object.bytes.withUnsafeBufferPointer { append($0) }
    }
}
