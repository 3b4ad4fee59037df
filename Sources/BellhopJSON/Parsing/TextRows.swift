/// Reads a JSON array of arrays with a fixed number of texts, flags and nulls each, without a tree.
package enum TextRows {
    /// One element of a row; a text is valid only while its row is read.
    package enum Cell {
        case null
        case bool(Bool)
        case text(UnsafeBufferPointer<UInt8>)

        /// The text; `nil` for other elements.
        package var string: String? {
            guard case .text(let bytes) = self else { return nil }
            return String(decoding: bytes, as: UTF8.self)
        }
    }

    /// Passes each row to `row`, and returns whether the whole text was read.
    ///
    /// It declines other JSON, rows of another length and texts with escapes, possibly after some rows. The text must
    /// be valid UTF-8.
    package static func read(
        _ json: UnsafeRawBufferPointer,
        width: Int,
        row: (UnsafeBufferPointer<Cell>) -> Void
    ) -> Bool {
        json.withMemoryRebound(to: UInt8.self) { bytes in
            withUnsafeTemporaryAllocation(of: Cell.self, capacity: width) { cells in
                cells.initialize(repeating: .null)
                var cursor = TextCursor(bytes)
                return rows(&cursor, cells, row)
            }
        }
    }

    private static func rows(
        _ cursor: inout TextCursor,
        _ cells: UnsafeMutableBufferPointer<Cell>,
        _ row: (UnsafeBufferPointer<Cell>) -> Void
    ) -> Bool {
        guard cursor.skipMark(UInt8(ascii: "[")) else { return false }
        if cursor.current != UInt8(ascii: "]") {
            repeat {
                guard fill(cells, &cursor) else { return false }
                row(UnsafeBufferPointer(cells))
            } while cursor.skipMark(UInt8(ascii: ","))
        }
        return cursor.skipMark(UInt8(ascii: "]")) && cursor.isAtEnd
    }

    /// Reads one row into the cells.
    private static func fill(_ cells: UnsafeMutableBufferPointer<Cell>, _ cursor: inout TextCursor) -> Bool {
        guard cursor.skipMark(UInt8(ascii: "[")) else { return false }
        for index in cells.indices {
            if index > 0, !cursor.skipMark(UInt8(ascii: ",")) { return false }
            guard let cell = cell(&cursor) else { return false }
            cells[index] = cell
        }
        return cursor.skipMark(UInt8(ascii: "]"))
    }

    private static func cell(_ cursor: inout TextCursor) -> Cell? {
        switch cursor.current {
        case UInt8(ascii: "\""): cursor.plainString().map(Cell.text)
        case UInt8(ascii: "t"): cursor.skip("true" as StaticString) ? .bool(true) : nil
        case UInt8(ascii: "f"): cursor.skip("false" as StaticString) ? .bool(false) : nil
        default: cursor.skip("null" as StaticString) ? .null : nil
        }
    }
}
