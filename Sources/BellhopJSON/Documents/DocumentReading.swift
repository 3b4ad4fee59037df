/// A document during reading, with the places of its values and the faults found so far.
///
/// It is discarded after the document has been read.
package final class DocumentReading {
    /// The whole document; `nil` if its text violates the grammar, which is reported.
    package private(set) var root: JSONValue?
    /// The faults in the order in which they were found.
    package private(set) var faults: [DocumentFault] = []

    private let file: String
    private let bytes: [UInt8]
    /// The byte offsets at which members and elements begin.
    private var offsets: [JSONPointer: Int] = [:]

    package init(
        _ bytes: [UInt8],
        file: String,
        dialect: JSONParser.Dialect = .json5,
        limits: JSONParser.Limits
    ) {
        self.file = file
        self.bytes = bytes
        let parser = JSONParser(dialect: dialect, limits: limits)
        switch bytes.withUnsafeBufferPointer({ parser.document($0, recordingPlaces: true) }) {
        case .success(let document): (root, offsets) = (document.root, document.places)
        case .failure(let fault): add(.root, fault.code.rawValue, line: fault.line, column: fault.column)
        }
    }

    /// Returns the document's top-level object; reports a fault if it is not an object.
    package func scope(expected: String = "an object") -> JSONScope? {
        root.flatMap { scope(of: $0, at: .root, expected: expected) }
    }

    /// Returns the object at a place; reports a fault if the value is not an object.
    package func scope(of value: JSONValue, at place: JSONPointer, expected: String = "an object") -> JSONScope? {
        if let object = value.object { return JSONScope(object: object, place: place, reading: self) }
        report(place, "expected \(expected), found \(value.describedKind)")
        return nil
    }

    /// Reports a fault at a place.
    ///
    /// If the place is not in the file, the position of its nearest ancestor is reported; the position of the root is
    /// the beginning of the file.
    package func report(_ pointer: JSONPointer, _ message: String) {
        var steps = pointer.steps
        var offset = offsets[pointer]
        while offset == nil, !steps.isEmpty {
            steps.removeLast()
            offset = offsets[steps.reduce(JSONPointer.root) { $0.key($1) }]
        }
        let place = bytes.withUnsafeBufferPointer { TextPlace(offset: offset ?? 0, in: $0) }
        add(pointer, message, line: place.line, column: place.column)
    }

    private func add(_ pointer: JSONPointer, _ message: String, line: Int, column: Int) {
        faults.append(DocumentFault(file: file, line: line, column: column, pointer: pointer, message: message))
    }

    /// The faults sorted by line and column, the order in which they are corrected.
    package var inOrder: [DocumentFault] { faults.sorted { ($0.line, $0.column) < ($1.line, $1.column) } }

    /// Returns the value if the document has no faults, or else all faults.
    package func result<Value>(_ value: Value?) -> Result<Value, DocumentFaults> {
        guard let value, faults.isEmpty else { return .failure(DocumentFaults(faults: inOrder)) }
        return .success(value)
    }
}
