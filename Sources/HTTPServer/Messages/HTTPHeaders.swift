/// Header fields in their received order; names are compared without regard to case.
package struct HTTPHeaders: Sendable, Equatable, ExpressibleByDictionaryLiteral {
    /// One field, with its name in lower case.
    package struct Field: Sendable, Equatable {
        package let name: String
        package let value: String
    }

    package private(set) var fields: [Field] = []

    package init() {}

    package init(dictionaryLiteral elements: (String, String)...) {
        for (name, value) in elements { add(name, value) }
    }

    package mutating func add(_ name: String, _ value: String) {
        fields.append(Field(name: Self.lowercased(name), value: value))
    }

    /// All values of the name joined by commas, as HTTP permits; setting replaces them all.
    package subscript(name: String) -> String? {
        get {
            let name = Self.lowercased(name)
            guard let first = fields.firstIndex(where: { $0.name == name }) else { return nil }
            return fields[(first + 1)...].lazy.filter { $0.name == name }
                .reduce(fields[first].value) { "\($0), \($1.value)" }
        }
        set {
            let name = Self.lowercased(name)
            fields.removeAll { $0.name == name }
            if let newValue { fields.append(Field(name: name, value: newValue)) }
        }
    }

    package func values(of name: String) -> [String] {
        let name = Self.lowercased(name)
        return fields.filter { $0.name == name }.map(\.value)
    }

    /// Returns the name in lower case, without a copy of a name that is.
    private static func lowercased(_ name: String) -> String {
        name.utf8.contains { (0x41...0x5A).contains($0) } ? name.lowercased() : name
    }
}
