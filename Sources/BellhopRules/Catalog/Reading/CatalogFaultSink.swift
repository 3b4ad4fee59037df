/// Collects the faults of one file while it is read; lives no longer than that.
final class CatalogFaultSink {
    private let file: String
    private let bytes: [UInt8]
    private(set) var faults: [CatalogFault] = []
    /// Where members begin, once the file is known to be JSON5.
    var places: [JSONPointer: Int] = [:]

    init(file: String, bytes: [UInt8]) {
        self.file = file
        self.bytes = bytes
    }

    /// Reports a fault at a place, or at its nearest ancestor that the file has.
    func report(_ pointer: JSONPointer, _ message: String) {
        var steps = pointer.steps
        var offset = places[pointer]
        while offset == nil, !steps.isEmpty {
            steps.removeLast()
            offset = places[steps.reduce(JSONPointer.root) { $0.key($1) }]
        }
        let place = offset.map { offset in bytes.withUnsafeBufferPointer { TextPlace(offset: offset, in: $0) } }
        faults.append(
            CatalogFault(file: file, line: place?.line, column: place?.column, pointer: pointer, message: message)
        )
    }

    /// Reports that the file is no JSON5.
    func report(_ fault: JSONFault) {
        faults.append(
            CatalogFault(
                file: file,
                line: fault.line,
                column: fault.column,
                pointer: .root,
                message: fault.code.rawValue
            )
        )
    }
}
