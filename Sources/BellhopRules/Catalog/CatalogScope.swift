/// One object of a catalogue while it is read: typed access that reports instead of failing, so that one pass finds
/// every fault.
struct CatalogScope {
    let object: JSONObject
    let place: JSONPointer
    let sink: CatalogFaultSink

    /// Reports every key that is not among these.
    func expectKeys(_ known: [String]) {
        for member in object.members where !known.contains(member.key) {
            let near = known.min { Spelling.distance($0, member.key) < Spelling.distance($1, member.key) }
            let isNear = near.map { Spelling.distance($0, member.key) <= 2 } ?? false
            let advice = isNear ? "; did you mean \(near ?? "")?" : "; known are " + known.joined(separator: ", ")
            sink.report(place.key(member.key), "unknown key" + advice)
        }
    }

    func report(_ key: String, expected: String) {
        let found = object[key].map(\.describedKind) ?? "nothing"
        sink.report(place.key(key), "expected \(expected), found \(found)")
    }

    /// A value that `read` understands, or a report.
    ///
    /// An absent key is reported only when it is required.
    func value<Value>(_ key: String, _ expected: String, required: Bool, _ read: (JSONValue) -> Value?) -> Value? {
        guard let value = object[key] else {
            if required { report(key, expected: expected) }
            return nil
        }
        guard let understood = read(value) else {
            report(key, expected: expected)
            return nil
        }
        return understood
    }

    func identifier<ID: TextIdentifier>(_ key: String, as type: ID.Type = ID.self) -> ID? {
        value(key, ID.rule, required: true) { $0.string.flatMap(ID.init(validating:)) }
    }

    func scope(_ key: String, required: Bool) -> CatalogScope? {
        let object = value(key, "an object", required: required, \.object)
        return object.map { CatalogScope(object: $0, place: place.key(key), sink: sink) }
    }

    /// A non-empty text without control characters.
    func line(_ key: String, required: Bool) -> String? {
        value(key, "a non-empty string of one line", required: required) { value in
            value.string.flatMap { IdentifierRules.isPlain($0, longest: 8192) ? $0 : nil }
        }
    }

    /// A template, or a report of what is wrong with it.
    func template(_ key: String, aliases: [String: String], required: Bool) -> Template? {
        let text = value(key, "a non-empty string without U+0000", required: required) { value in
            value.string.flatMap { $0.isEmpty || $0.utf8.contains(0) ? nil : $0 }
        }
        guard let text else { return nil }
        do {
            return try Template(text, aliases: aliases)
        } catch {
            sink.report(place.key(key), error.message)
            return nil
        }
    }
}
