/// One object of a catalogue file while it is read: finds values by key, says what was expected where they are wrong,
/// and lets the reader go on, so that one run shows every fault.
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

    /// Reports a value that is right in itself and wrong beside another.
    func contradiction(_ key: String, _ message: String) {
        sink.report(place.key(key), message)
    }

    /// A value that `read` understands, or a report.
    ///
    /// An absent key is reported only when it is required.
    func value<Value>(
        _ key: String,
        _ expected: String,
        required: Bool = false,
        _ read: (JSONValue) -> Value?
    ) -> Value? {
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

    func scope(_ key: String, required: Bool = false) -> CatalogScope? {
        let object = value(key, "an object", required: required, \.object)
        return object.map { CatalogScope(object: $0, place: place.key(key), sink: sink) }
    }

    func flag(_ key: String) -> Bool? {
        value(key, "true or false", \.bool)
    }

    func wholeNumber(_ key: String, _ range: ClosedRange<Int>) -> Int? {
        value(key, "a whole number from \(range.lowerBound) to \(range.upperBound)") { value in
            value.number?.int64.flatMap(Int.init(exactly:)).flatMap { range.contains($0) ? $0 : nil }
        }
    }

    /// A word out of a closed list.
    func word<Word: RawRepresentable & CaseIterable>(
        _ key: String,
        as type: Word.Type,
        required: Bool = false
    ) -> Word? where Word.RawValue == String {
        value(key, FieldReader.oneOf(type), required: required) { $0.string.flatMap(Word.init(rawValue:)) }
    }

    /// Words out of a closed list, each once, in their order.
    func words<Word: RawRepresentable & CaseIterable & Hashable>(
        _ key: String,
        as type: Word.Type
    ) -> [Word]? where Word.RawValue == String {
        list(key, FieldReader.oneOf(type)) { $0.string.flatMap(Word.init(rawValue:)) }
    }

    /// A list of at least one thing, each once; what cannot be read is reported and left out.
    func list<Element: Hashable>(
        _ key: String,
        _ expected: String,
        required: Bool = false,
        _ read: (JSONValue) -> Element?
    ) -> [Element]? {
        guard
            let values = value(
                key,
                "a list of at least one",
                required: required,
                { $0.array.flatMap { $0.isEmpty ? nil : $0 } }
            )
        else { return nil }
        var elements: [Element] = []
        for (index, value) in values.enumerated() {
            let place = place.key(key).index(index)
            guard let element = read(value) else {
                sink.report(place, "expected \(expected), found \(value.describedKind)")
                continue
            }
            if elements.contains(element) { sink.report(place, "stands in this list already") }
            elements.append(element)
        }
        return elements
    }

    /// A non-empty text without control characters.
    func line(_ key: String, longest: Int = 255, required: Bool = false) -> String? {
        value(key, "a non-empty string of one line, at most \(longest) bytes", required: required) { value in
            value.string.flatMap { IdentifierRules.isPlain($0, longest: longest) ? $0 : nil }
        }
    }

    func color(_ key: String) -> String? {
        value(key, "a colour such as #0B6E35") { value in
            guard let text = value.string, text.utf8.count == 7, text.utf8.first == UInt8(ascii: "#") else {
                return nil
            }
            return text.utf8.dropFirst().allSatisfy { JSONReader.hexadecimalDigit($0) != nil } ? text : nil
        }
    }
}
