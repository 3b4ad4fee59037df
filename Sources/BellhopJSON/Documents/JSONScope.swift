/// One object of a document during reading.
///
/// It finds values by key and reports the expected value for each invalid one. The reader continues after a fault, so
/// that one run shows every fault.
package struct JSONScope {
    package let object: JSONObject
    package let place: JSONPointer
    package let reading: DocumentReading

    /// Reports every key that is not in the list.
    package func expectKeys(_ known: [String]) {
        for member in object.members where !known.contains(member.key) {
            let near = NearestName.find(member.key, among: known)
            let advice = near.map { "did you mean \($0)?" } ?? "known are " + known.joined(separator: ", ")
            report(member.key, "unknown key; \(advice)")
        }
    }

    /// Reports unknown keys and returns the scope without members that are `null`, which serializers write for absent
    /// values.
    package func knowing(_ keys: [String]) -> JSONScope {
        expectKeys(keys)
        let members = object.members.filter { $0.value != .null }
        return JSONScope(object: JSONObject(unique: members), place: place, reading: reading)
    }

    package func report(_ key: String, _ message: String) {
        reading.report(place.key(key), message)
    }

    package func report(_ key: String, expected: String) {
        report(key, "expected \(expected), found \(object[key].map(\.describedKind) ?? "no value")")
    }

    /// Returns the value if `read` accepts it, and reports a fault otherwise.
    ///
    /// An absent key is reported only if it is required.
    package func value<Value>(
        _ key: String,
        _ expected: String,
        required: Bool = false,
        _ read: (JSONValue) -> Value?
    ) -> Value? {
        let value = object[key]
        if let understood = value.flatMap(read) { return understood }
        if value != nil || required { report(key, expected: expected) }
        return nil
    }

    /// Returns the text if it meets the condition, and reports a fault otherwise.
    package func text(
        _ key: String,
        _ expected: String,
        required: Bool = false,
        _ isRight: (String) -> Bool
    ) -> String? {
        value(key, expected, required: required) { $0.string.flatMap { isRight($0) ? $0 : nil } }
    }

    package func scope(_ key: String, required: Bool = false) -> JSONScope? {
        let object = value(key, "an object", required: required, \.object)
        return object.map { JSONScope(object: $0, place: place.key(key), reading: reading) }
    }

    /// Returns the objects of a list.
    ///
    /// Elements that are not objects are reported and left out.
    package func scopes(_ key: String, _ expected: String = "a list", required: Bool = false) -> [JSONScope] {
        let elements = value(key, expected, required: required, \.array) ?? []
        return elements.enumerated().compactMap { index, element in
            reading.scope(of: element, at: place.key(key).index(index))
        }
    }

    package func flag(_ key: String) -> Bool? { value(key, "true or false", \.bool) }

    package func wholeNumber(_ key: String, _ range: ClosedRange<Int>, required: Bool = false) -> Int? {
        value(key, "a whole number from \(range.lowerBound) to \(range.upperBound)", required: required) { value in
            value.number?.int64.flatMap(Int.init(exactly:)).flatMap { range.contains($0) ? $0 : nil }
        }
    }

    /// Returns a value from a closed list.
    package func word<Word: RawRepresentable & CaseIterable>(
        _ key: String,
        as type: Word.Type,
        required: Bool = false
    ) -> Word? where Word.RawValue == String {
        value(key, Self.oneOf(type), required: required) { $0.string.flatMap(Word.init(rawValue:)) }
    }

    /// Returns values from a closed list, each at most once, in the order of the document.
    package func words<Word: RawRepresentable & CaseIterable & Hashable>(
        _ key: String,
        as type: Word.Type
    ) -> [Word]? where Word.RawValue == String {
        list(key, Self.oneOf(type)) { $0.string.flatMap(Word.init(rawValue:)) }
    }

    /// Returns the values of a closed list for messages, such as the last part of `expected one of high, normal, low`.
    package static func oneOf<Word: RawRepresentable & CaseIterable>(_ type: Word.Type) -> String
    where Word.RawValue == String {
        "one of " + type.allCases.map(\.rawValue).joined(separator: ", ")
    }

    /// Returns the elements of a list with at least one element.
    ///
    /// Duplicates are reported. Elements that cannot be read are reported and left out.
    package func list<Element: Hashable>(
        _ key: String,
        _ expected: String,
        required: Bool = false,
        _ read: (JSONValue) -> Element?
    ) -> [Element]? {
        let values = value(key, "a list of at least one", required: required) { value in
            value.array.flatMap { $0.isEmpty ? nil : $0 }
        }
        guard let values else { return nil }
        var elements: [Element] = []
        for (index, value) in values.enumerated() {
            let place = place.key(key).index(index)
            guard let element = read(value) else {
                reading.report(place, "expected \(expected), found \(value.describedKind)")
                continue
            }
            if elements.contains(element) { reading.report(place, "stands in this list already") }
            elements.append(element)
        }
        return elements
    }
}
