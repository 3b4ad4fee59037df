import BellhopJSON

/// A reader for the subset of YAML in `docs/openapi.yaml`: maps and lists by indentation, lists of words in brackets,
/// and words with or without quotes.
struct PlainYAML {
    private struct Line {
        let indentation: Int
        var text: Substring
    }

    private var lines: [Line]
    private var next = 0

    static func read(_ text: String) -> JSONValue {
        var reader = PlainYAML(text)
        return reader.block()
    }

    private init(_ text: String) {
        lines = text.split(separator: "\n").compactMap { line in
            let indentation = line.prefix { $0 == " " }.count
            let text = line.dropFirst(indentation)
            return text.hasPrefix("#") || text.isEmpty ? nil : Line(indentation: indentation, text: text)
        }
    }

    /// Reads the list or map that begins at the next line's indentation.
    private mutating func block() -> JSONValue {
        guard next < lines.count else { return .null }
        let indentation = lines[next].indentation
        return lines[next].text.hasPrefix("- ") ? list(indentation) : map(indentation)
    }

    private mutating func list(_ indentation: Int) -> JSONValue {
        var items: [JSONValue] = []
        while next < lines.count, lines[next].indentation == indentation, lines[next].text.hasPrefix("- ") {
            // The item's first line is indented by two more than its dash.
            lines[next] = Line(indentation: indentation + 2, text: lines[next].text.dropFirst(2))
            items.append(Self.colon(in: lines[next].text) == nil ? Self.scalar(take()) : block())
        }
        return .array(items)
    }

    private mutating func map(_ indentation: Int) -> JSONValue {
        var object = JSONObject()
        while next < lines.count, lines[next].indentation == indentation {
            let line = take()
            guard let colon = Self.colon(in: line) else { break }
            let value = line[line.index(after: colon)...].drop { $0 == " " }
            object[Self.unquoted(line[..<colon])] = value.isEmpty ? inner(of: indentation) : Self.scalar(value)
        }
        return .object(object)
    }

    private mutating func inner(of indentation: Int) -> JSONValue {
        guard next < lines.count, lines[next].indentation > indentation else { return .null }
        return block()
    }

    private mutating func take() -> Substring {
        defer { next += 1 }
        return lines[next].text
    }

    /// The colon that ends a key.
    private static func colon(in text: Substring) -> Substring.Index? {
        var quote: Character?
        for index in text.indices {
            if let open = quote {
                if text[index] == open { quote = nil }
            } else if index == text.startIndex, "'\"".contains(text[index]) {
                quote = text[index]
            } else if text[index] == ":" {
                let after = text.index(after: index)
                if after == text.endIndex || text[after] == " " { return index }
            } else if text[index] == " " {
                return nil
            }
        }
        return nil
    }

    private static func scalar(_ text: Substring) -> JSONValue {
        if text.hasPrefix("["), text.hasSuffix("]") {
            return .array(text.dropFirst().dropLast().split(separator: ",").map { scalar($0.drop { $0 == " " }) })
        }
        if let first = text.first, "'\"".contains(first) { return .string(unquoted(text)) }
        if text == "true" || text == "false" { return .bool(text == "true") }
        if text == "null" { return .null }
        return Int64(text).map { .number(JSONNumber($0)) } ?? .string(String(text))
    }

    private static func unquoted(_ text: Substring) -> String {
        guard text.count >= 2, let quote = text.first, "'\"".contains(quote), text.last == quote else {
            return String(text)
        }
        return String(text.dropFirst().dropLast())
    }
}
