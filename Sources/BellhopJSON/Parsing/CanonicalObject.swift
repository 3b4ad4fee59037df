/// A JSON object as its canonical text, for objects that are stored and passed on as a whole.
package struct CanonicalObject: Sendable, Hashable {
    /// The text, as ``JSONWriter`` writes it.
    package let bytes: [UInt8]

    /// The object without members.
    package static let empty = CanonicalObject(JSONObject())

    package init(_ object: JSONObject) { bytes = object.canonicalBytes }

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

extension JSONBuffer {
    /// Writes a member with an object.
    package mutating func append(_ name: StaticString, _ object: CanonicalObject) {
        begin(name)
        object.bytes.withUnsafeBufferPointer { append($0) }
    }
}
