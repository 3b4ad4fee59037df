extension String {
    /// Returns the text with escapes for everything that could end a line, move a cursor or change the direction of
    /// writing.
    ///
    /// External text can therefore never forge a separate line.
    package func escapingControls() -> String {
        guard unicodeScalars.contains(where: \.isMark) else { return self }
        return unicodeScalars.reduce(into: "") { text, scalar in
            text += scalar.isMark ? scalar.escaped : String(scalar)
        }
    }

    /// The text unchanged if it is one plain word, else in double quotes.
    var quotedWhereNeeded: String {
        let isPlain =
            !isEmpty && unicodeScalars.allSatisfy { !$0.isMark && !" =\"\\".unicodeScalars.contains($0) }
        guard !isPlain else { return self }
        let quoted = unicodeScalars.reduce(into: "") { text, scalar in
            switch scalar {
            case "\"": text += "\\\""
            case "\\": text += "\\\\"
            case _ where scalar.isMark: text += scalar.escaped
            default: text.unicodeScalars.append(scalar)
            }
        }
        return "\"\(quoted)\""
    }

    /// A name that cannot be confused with a value: every character except letters, digits, `_`, `.` and `-` becomes
    /// `_`.
    var asFieldName: String {
        let safe = unicodeScalars.map { scalar -> Character in
            let isSafe = scalar.isASCII && (scalar.properties.isAlphabetic || ("0"..."9").contains(scalar))
            return isSafe || "_.-".unicodeScalars.contains(scalar) ? Character(scalar) : "_"
        }
        return safe.isEmpty ? "_" : String(safe)
    }

    /// A JSON string with its quotes.
    package var asJSONString: String {
        var json = "\""
        for scalar in unicodeScalars {
            switch scalar {
            case "\"": json += "\\\""
            case "\\": json += "\\\\"
            case "\n": json += "\\n"
            case "\r": json += "\\r"
            case "\t": json += "\\t"
            case _ where scalar.isMark: json += scalar.utf16Escaped
            default: json.unicodeScalars.append(scalar)
            }
        }
        return json + "\""
    }

    /// Returns at most `limit` bytes of UTF-8, with an ellipsis if the text was cut.
    func clipped(to limit: Int) -> String {
        guard utf8.count > limit else { return self }
        var end = utf8.index(startIndex, offsetBy: max(0, limit - 3))
        while end > startIndex, end.samePosition(in: unicodeScalars) == nil {
            end = utf8.index(before: end)
        }
        return String(self[..<end]) + "…"
    }
}

extension Unicode.Scalar {
    fileprivate var escaped: String {
        switch self {
        case "\n": "\\n"
        case "\r": "\\r"
        case "\t": "\\t"
        default: "\\u{\(String(value, radix: 16))}"
        }
    }
}
