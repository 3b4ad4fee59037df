/// Where a JSON5 text stops being JSON5; Foundation only says that it does.
package struct JSON5Fault: Error, Sendable, Equatable, CustomStringConvertible {
    /// From 1.
    package let line: Int
    /// From 1, counted in Unicode scalars.
    package let column: Int
    package let problem: String

    package var description: String {
        "line \(line), column \(column): \(problem)"
    }

    /// The first fault of `text`; nil where it is well-formed.
    package static func locate(in text: String) -> JSON5Fault? {
        var scanner = JSON5Scanner(text)
        do {
            try scanner.scanDocument()
            return nil
        } catch {
            return error as? JSON5Fault
        }
    }
}

/// Walks over a JSON5 text without keeping any of it.
private struct JSON5Scanner {
    private let scalars: [Unicode.Scalar]
    private var position = 0
    private var depth = 0

    init(_ text: String) {
        scalars = Array(text.unicodeScalars)
    }

    mutating func scanDocument() throws {
        try scanValue()
        try skipSpace()
        guard position == scalars.count else { throw fault("something follows the end of the document") }
    }

    private var current: Unicode.Scalar? {
        position < scalars.count ? scalars[position] : nil
    }

    private func fault(_ problem: String) -> JSON5Fault {
        let before = scalars[..<min(position, scalars.count)]
        let lineStart = before.lastIndex(of: "\n").map { $0 + 1 } ?? 0
        let line = before.count { $0 == "\n" } + 1
        let found = current == nil ? problem.replacing("here", with: "at the end of the text") : problem
        return JSON5Fault(line: line, column: before.count - lineStart + 1, problem: found)
    }

    private mutating func skipSpace() throws {
        while let scalar = current {
            if scalar.properties.isWhitespace || scalar == "\u{FEFF}" {
                position += 1
            } else if scalar == "/" {
                try skipComment()
            } else {
                return
            }
        }
    }

    private mutating func skipComment() throws {
        switch position + 1 < scalars.count ? scalars[position + 1] : nil {
        case "/":
            while let scalar = current, scalar != "\n" { _ = scalar; position += 1 }
        case "*":
            let start = position
            position += 2
            while position + 1 < scalars.count, !(scalars[position] == "*" && scalars[position + 1] == "/") {
                position += 1
            }
            guard position + 1 < scalars.count else {
                position = start
                throw fault("this comment has no end")
            }
            position += 2
        default:
            throw fault("a value is expected here")
        }
    }

    private mutating func scanValue() throws {
        try skipSpace()
        guard depth < 200 else { throw fault("nested too deeply") }
        switch current {
        case "{": try scanList(closing: "}") { try $0.scanMember() }
        case "[": try scanList(closing: "]") { try $0.scanValue() }
        case "\"", "'": try scanString()
        default: try scanWord()
        }
    }

    private mutating func scanList(closing: Unicode.Scalar, _ scanElement: (inout JSON5Scanner) throws -> Void) throws {
        position += 1
        depth += 1
        while true {
            try skipSpace()
            if current == closing { break }
            try scanElement(&self)
            try skipSpace()
            if current == closing { break }
            guard current == "," else { throw fault("a comma or \(closing) is expected here") }
            position += 1
        }
        position += 1
        depth -= 1
    }

    private mutating func scanMember() throws {
        if current == "\"" || current == "'" {
            try scanString()
        } else {
            let start = position
            while let scalar = current, scalar.isPartOfName { _ = scalar; position += 1 }
            guard position > start else { throw fault("a key is expected here") }
        }
        try skipSpace()
        guard current == ":" else { throw fault("a colon is expected here") }
        position += 1
        try scanValue()
    }

    private mutating func scanString() throws {
        let start = position
        let quote = current
        position += 1
        while let scalar = current, scalar != quote {
            guard scalar != "\n" else { break }
            position += scalar == "\\" ? 2 : 1
        }
        guard current == quote else {
            position = start
            throw fault("this text has no closing quote on its line")
        }
        position += 1
    }

    /// A number or one of the words.
    private mutating func scanWord() throws {
        let start = position
        while let scalar = current, scalar.isPartOfName || "+-.".unicodeScalars.contains(scalar) {
            _ = scalar; position += 1
        }
        let word = scalars[start..<position].reduce(into: "") { $0.unicodeScalars.append($1) }
        let unsigned = word.drop { $0 == "+" || $0 == "-" }
        let isNumber = unsigned.first.map { ("0"..."9").contains($0) || $0 == "." } ?? false
        guard isNumber || ["true", "false", "null", "Infinity", "NaN"].contains(String(unsigned)) else {
            position = start
            throw fault("a value is expected here")
        }
    }
}

extension Unicode.Scalar {
    fileprivate var isPartOfName: Bool {
        self == "_" || self == "$" || properties.isAlphabetic || properties.numericType != nil
    }
}
