import ServiceRuntime

/// A table for people.
///
/// The first column and texts are left-aligned, numbers are right-aligned, with two spaces between columns. A cell is
/// always one line, whatever its content.
package struct TextTable {
    private let header: [String]
    private let texts: Set<Int>
    private let flexible: [Int]
    private let optional: [Int]
    private var rows: [[String]]

    /// Creates a table of `rows`.
    ///
    /// The columns in `texts` and the first column are left-aligned.
    ///
    /// If the terminal is too narrow, the `optional` columns are left out first. Then the `flexible` columns are cut.
    /// Both happen in the given order.
    package init(
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

    package mutating func add(_ cells: [String]) {
        rows.append(cells.map(\.onOneLine))
    }

    /// The width limit of a flexible column if the terminal's width is unknown.
    private static let usualWidth = 60
    /// No column is cut to fewer characters.
    private static let leastWidth = 8
    private static let gap = 2

    /// Returns the lines without trailing spaces.
    ///
    /// `firstColumn` is the minimum width of the first column, so that consecutive tables line up. `width` is the
    /// terminal's width.
    package func lines(firstColumn: Int = 0, fitting width: Int? = nil) -> [String] {
        let all = [header] + rows
        var widths = header.indices.map { column in
            max(column == 0 ? firstColumn : 0, all.map { $0[column].count }.max() ?? 0)
        }
        let shown = fit(&widths, width)
        return all.map { cells in
            var line = ""
            for column in shown {
                let cell = HumanText.cut(cells[column], to: widths[column])
                let padding = String(repeating: " ", count: widths[column] - cell.count)
                line += column == shown.first ? "" : String(repeating: " ", count: Self.gap)
                line += texts.contains(column) ? cell + padding : padding + cell
            }
            while line.last == " " { line.removeLast() }
            return line
        }
    }

    /// Returns the columns to show, and sets their widths.
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
