/// The context attributes of a CloudEvents 1.0 message that Bellhop uses.
struct CloudEventAttributes {
    let id: String
    let source: String
    let type: String
    let time: Timestamp?
    let traceParent: String?
    let traceState: String?

    /// The prefixes of headers with attributes in binary mode: `cloudEvents:`, `cloudEvents_` (for brokers and clients
    /// that cannot write a colon), `ce-`.
    private static let prefixes = ["cloudevents:", "cloudevents_", "ce-"]

    /// Reads the attributes of structured mode from the document.
    init(document: JSONObject) throws(FieldFault) {
        try self.init { name throws(FieldFault) in
            guard let value = document[name], value != .null else { return nil }
            guard case .string(let text) = value else {
                throw FieldFault(at: JSONPointer.root.key(name), expected: "a string", found: value)
            }
            return text
        }
    }

    /// Reads the attributes of binary mode; `nil` if the message has none of the attributes that identify this mode.
    init?(headers: [(name: String, value: HeaderValue)]) throws(FieldFault) {
        let attributes = headers.compactMap { header in
            Self.attributeName(header.name).map { (name: $0, value: header.value) }
        }
        let decisive = ["specversion", "id", "source", "type"]
        guard attributes.contains(where: { decisive.contains($0.name) }) else { return nil }
        try self.init { name throws(FieldFault) in
            let found = attributes.filter { $0.name == name }
            guard let first = found.first else { return nil }
            let place = JSONPointer.root.key(name)
            guard case .string(let text) = first.value else {
                throw FieldFault(.invalidField, at: place, "the CloudEvents header \(name) must be a string")
            }
            guard found.allSatisfy({ $0.value == first.value }) else {
                throw FieldFault(.invalidField, at: place, "two CloudEvents headers \(name) contradict one another")
            }
            return text
        }
    }

    private init(_ attribute: (String) throws(FieldFault) -> String?) throws(FieldFault) {
        func required(_ name: String) throws(FieldFault) -> String {
            guard let text = try attribute(name), !text.isEmpty else {
                throw FieldFault(
                    name == "id" ? .missingID : .invalidField,
                    at: JSONPointer.root.key(name),
                    "CloudEvents 1.0 requires the attribute \(name)"
                )
            }
            return text
        }
        guard try required("specversion") == "1.0" else {
            throw FieldFault(
                .invalidField,
                at: JSONPointer.root.key("specversion"),
                "expected CloudEvents of version 1.0"
            )
        }
        id = try required("id")
        source = try required("source")
        type = try required("type")
        traceParent = try attribute(TraceParent.Name.parent)
        traceState = try attribute(TraceParent.Name.state)
        guard let time = try attribute("time") else {
            self.time = nil
            return
        }
        guard let instant = Timestamp(validating: time) else {
            throw FieldFault(.invalidField, at: JSONPointer.root.key("time"), "expected \(Timestamp.rule)")
        }
        self.time = instant
    }

    /// The event's id if its data contain none.
    var eventID: String { "\(source)/\(id)" }

    private static func attributeName(_ header: String) -> String? {
        guard let first = header.utf8.first, first | 0x20 == UInt8(ascii: "c") else { return nil }
        let lowercased = header.lowercased()
        guard let prefix = prefixes.first(where: { lowercased.hasPrefix($0) }) else { return nil }
        return String(lowercased.dropFirst(prefix.count))
    }
}
