import BellhopRules

/// Validates a body against the schema, as the service's JSON parser does before anything evaluates the content.
struct FCMFormCheck {
    private(set) var violations: [FCMViolation] = []

    /// Returns all errors in the form of a body.
    static func violations(in body: JSONObject) -> [FCMViolation] {
        var check = FCMFormCheck()
        check.walk(body, FCMSchema.request, at: "")
        return check.violations
    }

    private mutating func walk(_ object: JSONObject, _ type: FCMMessageType, at place: String) {
        var seen: Set<String> = []
        for member in object.members {
            guard let field = type.field(member.key) else {
                let at = place.isEmpty ? "" : " at '\(place)'"
                note(place, "Invalid JSON payload received. Unknown name \"\(member.key)\"\(at): Cannot find field.")
                continue
            }
            let inner = place.isEmpty ? field.name : "\(place).\(field.name)"
            guard seen.insert(field.name).inserted else {
                note(inner, "Invalid JSON payload received. Field \"\(field.name)\" is set twice.")
                continue
            }
            check(member.value, field.kind, at: inner)
        }
    }

    private mutating func check(_ value: JSONValue, _ kind: FCMFieldKind, at place: String) {
        // Null is the JSON form of a field that is not set.
        guard value != .null else { return }
        switch kind {
        case .text: expect(value.string != nil, "TYPE_STRING", value, place)
        case .flag: expect(value.bool != nil, "TYPE_BOOL", value, place)
        case .whole:
            let isWhole = value.number?.int64.flatMap { Int32(exactly: $0) } != nil
            expect(isWhole, "TYPE_INT32", value, place)
        case .number: expect(value.number?.double != nil, "TYPE_FLOAT", value, place)
        case .duration:
            let isDuration = value.string.map { FCMDuration($0) != nil } ?? false
            expect(isDuration, "type.googleapis.com/google.protobuf.Duration", value, place)
        case .timestamp:
            let isTime = value.string.map(Self.isTimestamp) ?? false
            expect(isTime, "type.googleapis.com/google.protobuf.Timestamp", value, place)
        case .choice(let type, let names, let lowerCaseToo):
            let name = lowerCaseToo ? value.string?.uppercased() : value.string
            expect(name.map(names.contains) ?? false, type, value, place)
        case .texts, .list, .message, .object: checkNested(value, kind, at: place)
        }
    }

    private mutating func checkNested(_ value: JSONValue, _ kind: FCMFieldKind, at place: String) {
        switch (kind, value) {
        case (.object, .object): return
        case (.message(let type), .object(let object)): walk(object, type, at: place)
        case (.list(let element), .array(let elements)):
            for (index, value) in elements.enumerated() { check(value, element, at: "\(place)[\(index)]") }
        case (.texts, .object(let object)):
            for (index, member) in object.members.enumerated() {
                expect(member.value.string != nil, "TYPE_STRING", member.value, "\(place)[\(index)].value")
            }
        default: expect(false, "a \(value.typeName) cannot stand here", value, place)
        }
    }

    private mutating func expect(_ isRight: Bool, _ type: String, _ value: JSONValue, _ place: String) {
        guard !isRight else { return }
        let text = String(decoding: JSONWriter.canonicalBytes(of: value).prefix(200), as: UTF8.self)
        note(place, "Invalid value at '\(place)' (\(type)), \(text)")
    }

    private mutating func note(_ field: String, _ description: String) {
        violations.append(FCMViolation(field: field, description: description))
    }

    /// Whether the text has the form of RFC 3339, `2026-02-15T13:45:00.5Z`; the calendar is not checked.
    private static func isTimestamp(_ text: String) -> Bool {
        let shape = text.utf8.map { (0x30...0x39).contains($0) ? UInt8(ascii: "0") : $0 }
        guard shape.starts(with: "0000-00-00T00:00:00".utf8) else { return false }
        var rest = shape.dropFirst(19)
        if rest.first == UInt8(ascii: ".") {
            rest = rest.dropFirst()
            let digits = rest.prefix { $0 == UInt8(ascii: "0") }
            guard (1...9).contains(digits.count) else { return false }
            rest = rest.dropFirst(digits.count)
        }
        return rest.elementsEqual("Z".utf8) || rest.elementsEqual("+00:00".utf8) || rest.elementsEqual("-00:00".utf8)
    }
}

/// A time span in the notation of protocol buffers: seconds with at most nine decimals, and an `s`.
struct FCMDuration: Equatable {
    /// Rounded towards zero.
    let seconds: Int64

    init?(_ text: String) {
        guard text.hasSuffix("s") else { return nil }
        let parts = text.dropLast().split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        let isFraction = parts.count < 2 || ((1...9).contains(parts[1].count) && parts[1].utf8.allSatisfy(Self.isDigit))
        let digits = parts[0].hasPrefix("-") ? parts[0].dropFirst() : parts[0]
        guard isFraction, !digits.isEmpty, digits.utf8.allSatisfy(Self.isDigit), let seconds = Int64(parts[0]) else {
            return nil
        }
        self.seconds = parts[0].hasPrefix("-") && seconds == 0 && parts.count > 1 ? -1 : seconds
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }
}
