import ServiceRuntime

/// A table for people: the first column and texts to the left, numbers to the right, two spaces between.
///
/// A cell is one line, whatever is in it.
struct TextTable {
    private let header: [String]
    private let texts: Set<Int>
    private var rows: [[String]]

    /// `texts` are the columns that go to the left; the first does in any case.
    init(_ header: [String], texts: Set<Int> = [], rows: [[String]] = []) {
        self.header = header
        self.rows = rows.map { $0.map(\.onOneLine) }
        self.texts = texts.union([0])
    }

    mutating func add(_ cells: [String]) {
        rows.append(cells.map(\.onOneLine))
    }

    /// The lines, without spaces at their ends.
    ///
    /// `firstColumn` is the least width of the first column, so that tables under one another line up.
    func lines(firstColumn: Int = 0) -> [String] {
        let all = [header] + rows
        let widths = header.indices.map { column in
            max(column == 0 ? firstColumn : 0, all.map { $0[column].count }.max() ?? 0)
        }
        return all.map { cells in
            var line = ""
            for (column, cell) in cells.enumerated() {
                let padding = String(repeating: " ", count: widths[column] - cell.count)
                line += column == 0 ? "" : "  "
                line += texts.contains(column) ? cell + padding : padding + cell
            }
            while line.last == " " { line.removeLast() }
            return line
        }
    }
}
