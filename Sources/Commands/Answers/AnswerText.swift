import ServiceRuntime

/// Lines for a terminal of 80 columns: words that do not fit go on below where they began.
///
/// Wherever a text came from, it cannot end a line, and its marks are escaped before lines are filled.
struct AnswerText {
    private(set) var lines: [String] = []

    private static let width = 80

    var text: String { lines.joined(separator: "\n") }

    /// A heading, with an empty line before it.
    mutating func section(_ heading: String) {
        lines.append("")
        add("", heading)
    }

    /// Words behind a margin; further lines are set in as far as it is wide, and `hanging` more.
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

    /// A sentence of a list.
    mutating func item(_ words: String) {
        add("  ", words, hanging: 2)
    }

    /// Words behind a label.
    mutating func add(_ label: String, width: Int, _ words: String) {
        add("  " + label.filled(to: width), words)
    }
}

extension String {
    /// With spaces up to a width, and two more.
    func filled(to width: Int) -> String {
        self + String(repeating: " ", count: Swift.max(0, width - count) + 2)
    }
}
