/// A mail server's reply: its code, its enhanced status if it has one, and its text.
package struct SMTPReply: Hashable, Sendable, CustomStringConvertible {
    /// Three digits.
    package let code: Int

    package let status: EnhancedStatus?

    /// The text after the code in printable ASCII, lines joined by a space, cut at 512 bytes.
    ///
    /// It may name the recipient: use it for decisions, but neither log nor store it.
    package let words: String

    package init(code: Int, status: EnhancedStatus? = nil, words: String = "") {
        self.code = code
        self.status = status
        self.words = words
    }

    /// Parses the lines of one reply, without their line ends; returns `nil` if they are not a reply.
    init?(lines: [[UInt8]]) {
        guard let first = lines.first, let code = Self.code(first) else { return nil }
        var words: [UInt8] = []
        for line in lines {
            if !words.isEmpty { words.append(0x20) }
            words += line.dropFirst(4).map { $0 == 0x20 || ASCII.isVisible($0) ? $0 : UInt8(ascii: "?") }
        }
        let text = String(decoding: words.prefix(512), as: UTF8.self)
        self.init(code: code, status: EnhancedStatus(beginning: text), words: text)
    }

    /// Code and status, without anything that could name a user.
    package var description: String { status.map { "\(code) \($0)" } ?? "\(code)" }

    /// Returns the code at the beginning of a line, 200 to 599.
    static func code(_ line: [UInt8]) -> Int? {
        guard line.count >= 3, line.prefix(3).allSatisfy(ASCII.isDigit) else { return nil }
        let code = line.prefix(3).reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
        return (200...599).contains(code) ? code : nil
    }
}

/// An enhanced status code (RFC 3463), such as 5.1.1.
package struct EnhancedStatus: Hashable, Sendable, CustomStringConvertible {
    /// 2, 4 or 5.
    package let kind: Int
    package let subject: Int
    package let detail: Int

    package init(_ kind: Int, _ subject: Int, _ detail: Int) {
        self.kind = kind
        self.subject = subject
        self.detail = detail
    }

    /// Parses the status at the beginning of a reply's text.
    init?(beginning words: String) {
        let parts = words.prefix { $0 != " " }.split(separator: ".", omittingEmptySubsequences: false)
        let numbers = parts.compactMap { part in part.utf8.allSatisfy(ASCII.isDigit) ? Int(part) : nil }
        guard parts.count == 3, numbers.count == 3, [2, 4, 5].contains(numbers[0]),
            numbers[1] <= 999, numbers[2] <= 999
        else { return nil }
        self.init(numbers[0], numbers[1], numbers[2])
    }

    package var description: String { "\(kind).\(subject).\(detail)" }
}
