/// A table of named values in the order in which they travel: the headers of a message, the arguments of a queue.
///
/// A name may occur twice (the protocol lets it); the subscript sees the first.
package struct FieldTable: Sendable, Equatable {
    package struct Entry: Sendable, Equatable {
        package let name: String
        package let value: FieldValue

        package init(_ name: String, _ value: FieldValue) {
            self.name = name
            self.value = value
        }
    }

    package var entries: [Entry]

    package init(_ entries: [Entry] = []) {
        self.entries = entries
    }

    package var isEmpty: Bool { entries.isEmpty }

    /// Whether reading gave up at one of its own values: then there may be names that do not stand here.
    package var isCut: Bool {
        entries.contains { entry in
            if case .omitted = entry.value { true } else { false }
        }
    }

    /// How many values of one message's headers are read, nested ones included.
    package static let readableValues = FieldReader.valueLimit

    /// The table without the entries with which it would hold more values than these, nested ones included.
    package func prefix(ofValues limit: Int) -> FieldTable {
        var room = limit
        return FieldTable(
            entries.filter { entry in
                let count = entry.value.valueCount
                guard count <= room else { return false }
                room -= count
                return true
            }
        )
    }

    /// The first value of that name.
    ///
    /// Setting replaces it at its place, or appends; setting `nil` removes all of the name.
    package subscript(name: String) -> FieldValue? {
        get { entries.first { $0.name == name }?.value }
        set {
            guard let newValue else { return entries.removeAll { $0.name == name } }
            let entry = Entry(name, newValue)
            guard let index = entries.firstIndex(where: { $0.name == name }) else { return entries.append(entry) }
            entries[index] = entry
        }
    }

    /// The table without the names that `isUnwanted` picks.
    package func removing(where isUnwanted: (String) -> Bool) -> FieldTable {
        FieldTable(entries.filter { !isUnwanted($0.name) })
    }
}

extension FieldTable: ExpressibleByDictionaryLiteral {
    package init(dictionaryLiteral elements: (String, FieldValue)...) {
        entries = elements.map { Entry($0, $1) }
    }
}
