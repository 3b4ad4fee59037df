extension String {
    /// Returns the text with its marks in JSON's escapes.
    ///
    /// Newlines and tabs remain, because they separate lines and columns.
    ///
    /// The same value also appears between JSON quotes, so that one rule holds for text and for JSON.
    func printed() -> String { escapingMarks { $0 == "\n" || $0 == "\t" } }

    /// Returns the text as one line, with newlines and tabs escaped too.
    package func printedLine() -> String { escapingMarks { _ in false } }

    /// The text as one line: separators of words or lines become a space, other marks are escaped.
    ///
    /// It serves pieces of a layout whose width must be known before it is printed.
    package var onOneLine: String {
        guard unicodeScalars.contains(where: \.isMark) else { return self }
        var text = ""
        for scalar in unicodeScalars {
            switch scalar.value {
            case 0x09...0x0D, 0x85, 0x2028, 0x2029: text += " "
            case _ where scalar.isMark: text += scalar.utf16Escaped
            default: text.unicodeScalars.append(scalar)
            }
        }
        return text
    }

    private func escapingMarks(but stays: (Unicode.Scalar) -> Bool) -> String {
        guard unicodeScalars.contains(where: { $0.isMark && !stays($0) }) else { return self }
        var text = ""
        for scalar in unicodeScalars {
            switch scalar {
            case _ where !scalar.isMark || stays(scalar): text.unicodeScalars.append(scalar)
            case "\n": text += "\\n"
            case "\r": text += "\\r"
            case "\t": text += "\\t"
            default: text += scalar.utf16Escaped
            }
        }
        return text
    }
}

extension Unicode.Scalar {
    /// Whether the character is a mark and not a letter: it moves a cursor, gives a terminal a command, ends a line,
    /// changes the direction of writing or is invisible.
    ///
    /// Marks are the controls of both sets (C0 with DEL, and C1, whose U+009B begins a command like ESC and `[`),
    /// separators of lines and paragraphs, marks of direction, and invisible characters, which can carry a whole hidden
    /// text. The two joiners are not marks: emoji families and Persian need them, and they neither move nor turn
    /// anything.
    var isMark: Bool {
        switch value {
        case 0..<0x20, 0x7F..<0xA0, 0x61C, 0x180E, 0x200B, 0x200E...0x200F, 0x2028...0x202E, 0x2060...0x206F: true
        case 0xFEFF, 0xFFF9...0xFFFB, 0xE0000...0xE007F: true
        default: false
        }
    }

    /// The JSON escape: `\u202e`, or two of these beyond the first 65,536 code points.
    var utf16Escaped: String {
        String(self).utf16.map { unit in
            let digits = String(unit, radix: 16)
            return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
        }.joined()
    }
}
