/// A document while it is read: where its values stand, and what was found wrong with them; lives no longer than that.
package final class DocumentReading {
    /// The whole document; nil where the text has another grammar, which is reported then.
    package private(set) var root: JSONValue?
    /// In the order in which they were found.
    package private(set) var faults: [DocumentFault] = []

    private let file: String
    private let bytes: [UInt8]
    /// Where members and elements begin, in bytes.
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

    /// The document's one object, or a report.
    package func scope(expected: String = "an object") -> JSONScope? {
        root.flatMap { scope(of: $0, at: .root, expected: expected) }
    }

    /// The object at a place, or a report.
    package func scope(of value: JSONValue, at place: JSONPointer, expected: String = "an object") -> JSONScope? {
        if let object = value.object { return JSONScope(object: object, place: place, reading: self) }
        report(place, "expected \(expected), found \(value.describedKind)")
        return nil
    }

    /// Reports a fault at a place, or at its nearest ancestor that the file has; of the whole, at its beginning.
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

    /// The faults in the order of lines, which is how a person goes through them.
    package var inOrder: [DocumentFault] {
        faults.sorted { ($0.line, $0.column) < ($1.line, $1.column) }
    }

    /// What was read, where nothing is wrong.
    package func result<Value>(_ value: Value?) -> Result<Value, DocumentFaults> {
        guard let value, faults.isEmpty else { return .failure(DocumentFaults(faults: inOrder)) }
        return .success(value)
    }
}
