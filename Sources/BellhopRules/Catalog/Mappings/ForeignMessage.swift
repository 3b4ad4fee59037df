/// A place in another application's message.
struct MessagePath: Sendable {
    let pointer: JSONPointer
    /// One pointer for each step, relative to the value before it.
    fileprivate let steps: [JSONPointer]

    init(_ pointer: JSONPointer) {
        self.pointer = pointer
        steps = pointer.steps.map(JSONPointer.root.key)
    }
}

/// Another application's message while it is converted.
///
/// A path that leads through a string reads this string as JSON text, because outboxes store their payloads as text.
struct ForeignMessage {
    /// The place of the message in the body.
    let base: JSONPointer
    private let root: JSONValue
    /// The documents in strings that were read so far, by their places.
    private var documents: [JSONPointer: JSONValue] = [:]

    init(_ fields: JSONObject, at base: JSONPointer) {
        root = .object(fields)
        self.base = base
    }

    /// Returns the place in the body.
    func place(_ pointer: JSONPointer) -> JSONPointer { base.appending(pointer) }

    /// Returns the value at a place; `nil` if there is none, or `null`.
    mutating func value(at path: MessagePath) throws(FieldFault) -> JSONValue? {
        var value = root
        var place = JSONPointer.root
        for step in path.steps {
            if case .string(let text) = value { value = try document(text, at: place) }
            guard let next = step.value(in: value) else { return nil }
            value = next
            place = place.appending(step)
        }
        return value == .null ? nil : value
    }

    /// Returns the document in a string; any other value is returned as it is.
    mutating func structured(_ value: JSONValue, at path: MessagePath) throws(FieldFault) -> JSONValue {
        guard case .string(let text) = value else { return value }
        return try document(text, at: path.pointer)
    }

    private mutating func document(_ text: String, at pointer: JSONPointer) throws(FieldFault) -> JSONValue {
        if let known = documents[pointer] { return known }
        let bytes = Array(text.utf8)
        switch bytes.withUnsafeBufferPointer({ JSONParser(limits: .event).document($0) }) {
        case .success(let read):
            if read.needsInspection { try StorableJSON.check(read.root, at: place(pointer)) }
            documents[pointer] = read.root
            return read.root
        case .failure(let fault):
            throw FieldFault(.invalidField, at: place(pointer), "expected JSON text, \(fault.message)")
        }
    }
}
