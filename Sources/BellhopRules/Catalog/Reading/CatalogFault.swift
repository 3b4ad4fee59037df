/// One thing wrong in a catalogue file, so that a person can go there and mend it.
public struct CatalogFault: Hashable, Sendable, CustomStringConvertible {
    /// The name of the file.
    public let file: String
    /// The line from 1, where known.
    public let line: Int?
    /// The column from 1, where known.
    public let column: Int?
    /// The place inside the document; the root where the file as a whole is at fault.
    public let pointer: JSONPointer
    /// What was expected there.
    public let message: String

    /// File, place and expectation in one line: `drop.json5:12:5: /types/security/priority: expected …`.
    public var description: String {
        let place = [line, column].compactMap { $0.map { ":\($0)" } }.joined()
        return "\(file)\(place): \(pointer.text.isEmpty ? "" : "\(pointer.text): ")\(message)"
    }
}

/// Everything that is wrong in a set of catalogue files, at once.
public struct CatalogFaults: Error, Hashable, Sendable, CustomStringConvertible {
    /// The faults, file by file in the order given, each file's in the order of its lines; never empty.
    public let faults: [CatalogFault]

    /// One line per fault.
    public var description: String { faults.map(\.description).joined(separator: "\n") }
}
