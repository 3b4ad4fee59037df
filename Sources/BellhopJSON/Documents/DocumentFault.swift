/// One thing wrong in a document that people write, so that one of them can go there and mend it.
public struct DocumentFault: Hashable, Sendable, CustomStringConvertible {
    /// The name of the file.
    public let file: String
    /// The line from 1; 0 where the file could not be read at all.
    public let line: Int
    /// The column from 1; 0 where the line is.
    public let column: Int
    /// The place inside the document; the root where the file as a whole is at fault.
    public let pointer: JSONPointer
    /// What was expected there, what was found, or what to do; never a secret.
    public let message: String

    /// File, place and expectation in one line: `drop.json5:12:5: /types/security/priority: expected …`.
    public var description: String {
        let place = line > 0 ? ":\(line):\(column)" : ""
        return "\(file)\(place): \(pointer.text.isEmpty ? "" : "\(pointer.text): ")\(message)"
    }
}

/// Everything that is wrong in one or more documents, at once.
public struct DocumentFaults: Error, Hashable, Sendable, CustomStringConvertible {
    /// The faults, file by file in the order given, each file's in the order of its lines; never empty.
    public let faults: [DocumentFault]

    /// Takes what was found.
    package init(faults: [DocumentFault]) {
        self.faults = faults
    }

    /// A file that cannot be read at all.
    package init(unreadable file: String, _ message: String) {
        faults = [DocumentFault(file: file, line: 0, column: 0, pointer: .root, message: message)]
    }

    /// One line per fault.
    public var description: String { faults.map(\.description).joined(separator: "\n") }
}
