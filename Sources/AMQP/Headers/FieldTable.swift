/// A table of named values in wire order: the headers of a message, or the arguments of a queue.
///
/// A name may occur twice, as the protocol allows; the subscript uses the first entry.
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

    /// Whether reading stopped at one of the table's values, so that names may be missing.
    package var isCut: Bool {
        entries.contains { entry in
            if case .omitted = entry.value { true } else { false }
        }
    }

    /// The number of values that are read of one message's headers, including nested ones.
    package static let readableValues = FieldReader.valueLimit

    /// Returns the table without the entries that would exceed `limit` values, including nested ones.
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
    /// Setting replaces the entry in its position or appends one; setting `nil` removes all entries of the name.
    package subscript(name: String) -> FieldValue? {
        get { entries.first { $0.name == name }?.value }
        set {
            guard let newValue else { return entries.removeAll { $0.name == name } }
            let entry = Entry(name, newValue)
            guard let index = entries.firstIndex(where: { $0.name == name }) else { return entries.append(entry) }
            entries[index] = entry
        }
    }

    /// Returns the table without the names that match `isUnwanted`.
    package func removing(where isUnwanted: (String) -> Bool) -> FieldTable {
        FieldTable(entries.filter { !isUnwanted($0.name) })
    }
}

extension FieldTable: ExpressibleByDictionaryLiteral {
    package init(dictionaryLiteral elements: (String, FieldValue)...) {
        entries = elements.map { Entry($0, $1) }
    }
}
