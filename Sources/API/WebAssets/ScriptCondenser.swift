/// Removes the bytes of a script or style sheet that only its readers need: comments, indentation and spaces.
///
/// It changes no names and no syntax, so that the served file is still readable. Strings, templates and regular
/// expressions stay verbatim.
package struct ScriptCondenser {
    /// The surroundings of a byte.
    private enum Place {
        case code
        /// A string, until this quotation mark.
        case string(UInt8)
        /// The text of a template literal.
        case template
        /// A regular expression, and whether the byte is inside a class of it.
        case expression(isClass: Bool)
    }

    private var condensed: [UInt8] = []
    private var place = Place.code
    /// The depths of braces at which the expressions of open templates end.
    private var templates: [Int] = []
    private var depth = 0
    private var isEscaped = false
    /// Whether a brace begins an expression inside a template.
    private var isAfterDollar = false
    /// A space or a line break that is written only if the next byte needs it.
    private var owed: UInt8?

    /// Returns a script without its comments and unnecessary spaces.
    ///
    /// Each comment must fill its lines, no string may have several lines, and each statement must end with a semicolon or
    /// a block.
    package static func script(_ file: [UInt8]) -> [UInt8] {
        var condenser = ScriptCondenser()
        let lines = withoutComments(file)
        for byte in lines { condenser.take(byte) }
        return condenser.condensed
    }

    /// Returns a style sheet without its comments and unnecessary spaces, which its strings must not contain.
    package static func style(_ file: [UInt8]) -> [UInt8] {
        var condensed: [UInt8] = []
        for byte in withoutComments(file) {
            let isSpace = byte == space || byte == lineBreak
            guard let last = condensed.last else {
                condensed.append(byte)
                continue
            }
            if isSpace, last == space || "{};,>:".utf8.contains(last) { continue }
            if last == space, "{};,>".utf8.contains(byte) { condensed.removeLast() }
            if byte == closing, condensed.last == UInt8(ascii: ";") { condensed.removeLast() }
            condensed.append(isSpace ? space : byte)
        }
        return condensed
    }

    /// Returns the lines that are not comments, without indentation.
    private static func withoutComments(_ file: [UInt8]) -> [UInt8] {
        var isComment = false
        var lines: [ArraySlice<UInt8>] = []
        for line in file.split(separator: lineBreak) {
            let words = line.drop { $0 == space }
            isComment = isComment || words.starts(with: "/*".utf8)
            if isComment {
                isComment = !words.suffix(2).elementsEqual("*/".utf8)
            } else if !words.isEmpty, !words.starts(with: "//".utf8) {
                lines.append(words)
            }
        }
        return Array(lines.joined(separator: [lineBreak]))
    }

    private mutating func take(_ byte: UInt8) {
        switch place {
        case .code: takeCode(byte)
        case .string, .template, .expression:
            condensed.append(byte)
            if isEscaped {
                isEscaped = false
            } else if byte == Self.backslash {
                isEscaped = true
            } else {
                leave(byte)
            }
            isAfterDollar = byte == Self.dollar && condensed.dropLast().last != Self.backslash
        }
    }

    /// Ends a string, template or expression at its last byte.
    private mutating func leave(_ byte: UInt8) {
        switch place {
        case .string(let mark) where byte == mark: place = .code
        case .template where byte == Self.backtick: place = .code
        case .template where byte == Self.opening && isAfterDollar:
            depth += 1
            templates.append(depth)
            place = .code
        case .expression(let isClass):
            if byte == Self.slash, !isClass {
                place = .code
            } else if byte == UInt8(ascii: "[") || byte == UInt8(ascii: "]") {
                place = .expression(isClass: byte == UInt8(ascii: "["))
            }
        default: break
        }
    }

    private mutating func takeCode(_ byte: UInt8) {
        if byte == Self.space || byte == Self.lineBreak {
            owed = owed == Self.lineBreak ? owed : byte
            return
        }
        if let owed, needs(owed, before: byte) { condensed.append(owed) }
        owed = nil
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "'"): place = .string(byte)
        case Self.backtick: place = .template
        case Self.slash where beginsExpression: place = .expression(isClass: false)
        case Self.opening: depth += 1
        case Self.closing:
            // The last statement of a block needs no semicolon.
            if condensed.last == UInt8(ascii: ";") { condensed.removeLast() }
            if templates.last == depth {
                templates.removeLast()
                place = .template
            }
            depth -= 1
        default: break
        }
        condensed.append(byte)
    }

    /// Whether a space or a line break separates two words, two signs or two statements.
    private func needs(_ gap: UInt8, before next: UInt8) -> Bool {
        guard let last = condensed.last else { return false }
        if gap == Self.lineBreak { return !"{};,([".utf8.contains(last) && !"})]".utf8.contains(next) }
        if Self.isWord(last) && Self.isWord(next) { return true }
        // Two plus signs are another sign, and a slash may begin a comment.
        return last == next && "+-".utf8.contains(last) || last == Self.slash || next == Self.slash
    }

    private static func isWord(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), dollar, UInt8(ascii: "#"), 0x80...: true
        default: false
        }
    }

    /// Whether a slash at this place begins a regular expression and is not a division.
    private var beginsExpression: Bool {
        guard let last = condensed.last(where: { $0 != Self.space }) else { return true }
        if condensed.suffix(7).elementsEqual("return ".utf8) { return true }
        return "(,=:[!&|?{};>\n".utf8.contains(last)
    }

    private static let space = UInt8(ascii: " ")
    private static let lineBreak = UInt8(ascii: "\n")
    private static let backslash = UInt8(ascii: "\\")
    private static let slash = UInt8(ascii: "/")
    private static let backtick = UInt8(ascii: "`")
    private static let dollar = UInt8(ascii: "$")
    private static let opening = UInt8(ascii: "{")
    private static let closing = UInt8(ascii: "}")
}
