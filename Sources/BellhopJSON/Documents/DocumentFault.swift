/// A fault in a document that operators write, with the place to correct.
public struct DocumentFault: Hashable, Sendable, CustomStringConvertible {
    /// The name of the file.
    public let file: String
    /// The line, counted from 1; 0 if the file could not be read.
    public let line: Int
    /// The column, counted from 1; 0 if the line is 0.
    public let column: Int
    /// The place inside the document; the root if the fault concerns the whole file.
    public let pointer: JSONPointer
    /// The expectation, the finding or the correction; never a secret.
    public let message: String

    /// File, place and expectation in one line: `drop.json5:12:5: /types/security/priority: expected …`.
    public var description: String {
        let place = line > 0 ? ":\(line):\(column)" : ""
        return "\(file)\(place): \(pointer.text.isEmpty ? "" : "\(pointer.text): ")\(message)"
    }
}

/// All faults of one or more documents.
public struct DocumentFaults: Error, Hashable, Sendable, CustomStringConvertible {
    /// The faults, grouped by file in the given order and sorted by line within each file; never empty.
    public let faults: [DocumentFault]

    /// Creates the error from the faults of documents.
    package init(faults: [DocumentFault]) { self.faults = faults }

    /// Creates the error for a file that cannot be read.
    package init(unreadable file: String, _ message: String) {
        faults = [DocumentFault(file: file, line: 0, column: 0, pointer: .root, message: message)]
    }

    /// One line per fault.
    public var description: String { faults.map(\.description).joined(separator: "\n") }
}
