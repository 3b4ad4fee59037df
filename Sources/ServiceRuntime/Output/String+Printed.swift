extension String {
    /// Returns the text with its marks in JSON's escapes.
    ///
    /// Newlines and tabs remain, because they separate lines and columns.
    ///
    /// The same value also appears between JSON quotes, so that one rule holds for text and for JSON.
    func printed() -> String {
        escapingMarks { $0 == "\n" || $0 == "\t" }
    }

    /// Returns the text as one line, with newlines and tabs escaped too.
    package func printedLine() -> String {
        escapingMarks { _ in false }
    }

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
