extension LogForm {
    /// The maximum length of a line in bytes, with its newline.
    ///
    /// A pipe writes this many bytes (`PIPE_BUF`) atomically, so that lines of several processes never mix.
    static let longestLine = 4_096

    /// Returns the record as one line of UTF-8 with its newline.
    ///
    /// If the line exceeds the maximum, its values are clipped in steps. If it still does not fit, it loses its fields.
    package func line(for record: LogRecord) -> String {
        for limit in [Self.longestLine, 1_024, 256, 64] {
            let line = render(record, limit) + "\n"
            if line.utf8.count <= Self.longestLine { return line }
        }
        var bare = record
        bare.label = record.label.clipped(to: 256)
        bare.fields = ["clipped": .flag(true)]
        return render(bare, 256) + "\n"
    }

    private func render(_ record: LogRecord, _ limit: Int) -> String {
        switch self {
        case .text: textLine(record, limit)
        case .json: jsonLine(record, limit)
        }
    }

    /// Returns the text form of the line: `2026-02-15T13:45:00.123Z NOTICE  worker[4711] drained  held=0 took=1.2s`.
    private func textLine(_ record: LogRecord, _ limit: Int) -> String {
        let level = record.level.rawValue.uppercased()
        let column = level + String(repeating: " ", count: max(0, 7 - level.count))
        let label = record.label.escapingControls()
        let message = record.message.clipped(to: limit).escapingControls()
        let head = "\(record.time) \(column) \(label)[\(record.process)] \(message)"
        guard !record.fields.pairs.isEmpty else { return head }
        let fields = record.fields.pairs.map { "\($0.name.asFieldName)=\($0.value.text(clippedTo: limit))" }
        return head + "  " + fields.joined(separator: " ")
    }

    private func jsonLine(_ record: LogRecord, _ limit: Int) -> String {
        var members = [
            "\"time\":\"\(record.time)\"",
            "\"level\":\"\(record.level.rawValue)\"",
            "\"label\":\(record.label.asJSONString)",
            "\"pid\":\(record.process)",
            "\"message\":\(record.message.clipped(to: limit).asJSONString)",
        ]
        for (name, value) in record.fields.pairs {
            let isTaken = ["time", "level", "label", "pid", "message"].contains(name)
            members.append("\((isTaken ? "_" + name : name).asJSONString):\(value.json(clippedTo: limit))")
        }
        return "{" + members.joined(separator: ",") + "}"
    }
}

extension LogValue {
    fileprivate func text(clippedTo limit: Int) -> String {
        switch self {
        case .text(let text): text.clipped(to: limit).quotedWhereNeeded
        case .integer(let integer): String(integer)
        case .number(let number): String(number)
        case .flag(let flag): String(flag)
        case .span(let span): span.forPeople
        }
    }

    fileprivate func json(clippedTo limit: Int) -> String {
        switch self {
        case .text(let text): text.clipped(to: limit).asJSONString
        case .integer(let integer): String(integer)
        // JSON has no infinite numbers.
        case .number(let number): number.isFinite ? String(number) : "\"\(number)\""
        case .flag(let flag): String(flag)
        case .span(let span): String(span.secondsAsDouble)
        }
    }
}

extension Duration {
    /// The duration with about three digits: `870µs`, `12.3ms`, `4.56s`, `2m`, `1h`.
    fileprivate var forPeople: String {
        let microseconds = microseconds
        switch microseconds.magnitude {
        case ..<1_000: return "\(microseconds)µs"
        case ..<1_000_000: return "\(Double(microseconds / 100) / 10)ms"
        case ..<60_000_000: return "\(Double(microseconds / 10_000) / 100)s"
        default: return Duration.seconds(microseconds / 1_000_000).shortText
        }
    }
}

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
