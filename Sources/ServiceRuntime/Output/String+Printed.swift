extension String {
    /// The text with its marks escaped as JSON escapes them; newlines and tabs stay, as what parts lines and columns.
    ///
    /// Between quotes of JSON the same value comes out again, so that one rule holds for text and for JSON.
    func printed() -> String {
        escapingMarks { $0 == "\n" || $0 == "\t" }
    }

    /// The same where the text is one line, which nothing in it can end.
    func printedLine() -> String {
        escapingMarks { _ in false }
    }

    /// One line for people: what parts words or lines is a blank, other marks are escaped.
    ///
    /// For a piece of something that is laid out, whose width must be known before it is printed.
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
