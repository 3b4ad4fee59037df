extension String {
    /// The text with everything escaped that could end a line, move a cursor or turn the direction of writing.
    ///
    /// What comes from outside can so never forge a line of its own.
    package func escapingControls() -> String {
        guard unicodeScalars.contains(where: \.isMark) else { return self }
        return unicodeScalars.reduce(into: "") { text, scalar in
            text += scalar.isMark ? scalar.escaped : String(scalar)
        }
    }

    /// The text as it is where it is one plain word, else in double quotes.
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

    /// A name that cannot be mistaken for a value: everything but letters, digits, `_`, `.` and `-` becomes `_`.
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

    /// At most `limit` bytes of UTF-8, with an ellipsis where something was cut off.
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
