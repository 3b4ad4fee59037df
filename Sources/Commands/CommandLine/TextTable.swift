import ServiceRuntime

/// A table for people: the first column and texts to the left, numbers to the right, two spaces between.
///
/// A cell is one line, whatever is in it.
struct TextTable {
    private let header: [String]
    private let texts: Set<Int>
    private let flexible: [Int]
    private let optional: [Int]
    private var rows: [[String]]

    /// A table of `rows`, in which the columns of `texts` go to the left, as the first does in any case.
    ///
    /// Where a terminal is too narrow, the columns that are `optional` are left out first, then those that are `flexible`
    /// are cut, both in their order.
    init(
        _ header: [String],
        texts: Set<Int> = [],
        flexible: [Int] = [],
        optional: [Int] = [],
        rows: [[String]] = []
    ) {
        self.header = header
        self.rows = rows.map { $0.map(\.onOneLine) }
        self.texts = texts.union([0])
        self.flexible = flexible
        self.optional = optional
    }

    mutating func add(_ cells: [String]) {
        rows.append(cells.map(\.onOneLine))
    }

    /// As wide as a flexible column is where nobody knows how wide the reader's lines are.
    private static let usualWidth = 60
    /// Nothing is cut to less.
    private static let leastWidth = 8
    private static let gap = 2

    /// The lines, without spaces at their ends.
    ///
    /// `firstColumn` is the least width of the first column, so that tables under one another line up; `width` that of the
    /// terminal.
    func lines(firstColumn: Int = 0, fitting width: Int? = nil) -> [String] {
        let all = [header] + rows
        var widths = header.indices.map { column in
            max(column == 0 ? firstColumn : 0, all.map { $0[column].count }.max() ?? 0)
        }
        let shown = fit(&widths, width)
        return all.map { cells in
            var line = ""
            for column in shown {
                let cell = DeskText.cut(cells[column], to: widths[column])
                let padding = String(repeating: " ", count: widths[column] - cell.count)
                line += column == shown.first ? "" : String(repeating: " ", count: Self.gap)
                line += texts.contains(column) ? cell + padding : padding + cell
            }
            while line.last == " " { line.removeLast() }
            return line
        }
    }

    /// The columns that are shown; the widths become those that they are shown in.
    private func fit(_ widths: inout [Int], _ width: Int?) -> [Int] {
        var shown = Array(header.indices)
        guard let width else {
            for column in flexible { widths[column] = min(widths[column], Self.usualWidth) }
            return shown
        }
        let excess = { (shown: [Int], widths: [Int]) in
            shown.map { widths[$0] + Self.gap }.reduce(-Self.gap, +) - width
        }
        for column in optional where excess(shown, widths) > 0 { shown.removeAll { $0 == column } }
        for column in flexible {
            let tooMuch = excess(shown, widths)
            guard tooMuch > 0 else { break }
            let least = min(widths[column], max(Self.leastWidth, header[column].count))
            widths[column] = max(least, widths[column] - tooMuch)
        }
        return shown
    }
}
