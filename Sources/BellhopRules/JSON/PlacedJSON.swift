/// A document out of a file that people write, with the places of its values, so that a fault can name a line.
package struct PlacedJSON {
    /// The whole document.
    package let root: JSONValue

    private let bytes: [UInt8]
    private let offsets: [JSONPointer: Int]

    /// Line and column, both from 1, of a member or an element; those of its nearest ancestor where the file has none.
    package func place(of pointer: JSONPointer) -> (line: Int, column: Int) {
        var steps = pointer.steps
        var offset = offsets[pointer]
        while offset == nil, !steps.isEmpty {
            steps.removeLast()
            offset = offsets[steps.reduce(JSONPointer.root) { $0.key($1) }]
        }
        let place = bytes.withUnsafeBufferPointer { TextPlace(offset: offset ?? 0, in: $0) }
        return (place.line, place.column)
    }
}

extension PlacedJSON {
    /// Reads JSON5 within limits.
    package static func read(_ bytes: [UInt8], limits: JSONParser.Limits) -> Result<PlacedJSON, JSONFault> {
        let parser = JSONParser(dialect: .json5, limits: limits)
        let document = bytes.withUnsafeBufferPointer { parser.document($0, recordingPlaces: true) }
        return document.map { PlacedJSON(root: $0.root, bytes: bytes, offsets: $0.places) }
    }
}
