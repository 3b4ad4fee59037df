import ServiceRuntime

/// Lays out lines for a terminal of 80 columns.
///
/// Words that do not fit continue on the next line, indented. No text can end a line, whatever its source, and control
/// characters are escaped before the lines are filled.
struct WrappedText {
    private(set) var lines: [String] = []

    private static let width = 80

    var text: String { lines.joined(separator: "\n") }

    /// Adds a heading, with an empty line before it.
    mutating func section(_ heading: String) {
        lines.append("")
        add("", heading)
    }

    /// Adds words after a margin.
    ///
    /// Further lines are indented by the margin's width plus `hanging` columns.
    mutating func add(_ margin: String, _ words: String, hanging: Int = 0) {
        let indentation = String(repeating: " ", count: margin.count + hanging)
        var line = margin
        var isEmpty = true
        for word in words.onOneLine.split(separator: " ") {
            if !isEmpty, line.count + 1 + word.count > Self.width {
                lines.append(line)
                line = indentation
                isEmpty = true
            }
            line += (isEmpty ? "" : " ") + word
            isEmpty = false
        }
        while line.last == " " { line.removeLast() }
        lines.append(line)
    }

    /// Adds a sentence as a list item.
    mutating func item(_ words: String) {
        add("  ", words, hanging: 2)
    }

    /// Adds words after a label.
    mutating func add(_ label: String, width: Int, _ words: String) {
        add("  " + label.filled(to: width), words)
    }
}

extension String {
    /// Returns the text padded with spaces to a width, plus two more spaces.
    func filled(to width: Int) -> String {
        self + String(repeating: " ", count: Swift.max(0, width - count) + 2)
    }
}
