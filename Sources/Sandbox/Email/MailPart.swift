import Foundation

/// A mail or one of its parts: headers, and lines of content (RFC 2045, RFC 2046).
struct MailPart {
    let headers: [ReceivedMail.Header]
    private let content: ArraySlice<[UInt8]>

    init(_ lines: some Sequence<[UInt8]>) throws(MailFault) {
        let lines = Array(lines)
        guard let blank = lines.firstIndex(where: \.isEmpty) else { throw MailFault("no blank line ends the headers") }
        var headers: [ReceivedMail.Header] = []
        for line in lines[..<blank] {
            let text = String(decoding: line, as: UTF8.self)
            if text.hasPrefix(" ") || text.hasPrefix("\t") {
                guard let last = headers.popLast() else { throw MailFault("the first header line is a continuation") }
                headers.append((last.name, last.value + text))
                continue
            }
            guard let colon = text.firstIndex(of: ":"), colon > text.startIndex,
                text[..<colon].utf8.allSatisfy({ $0 > 0x20 })
            else { throw MailFault("a header line has no name") }
            headers.append((text[..<colon].lowercased(), String(text[text.index(after: colon)...])))
        }
        self.headers = headers.map { ($0.name, String($0.value.drop { $0 == " " })) }
        content = lines[(blank + 1)...]
    }

    func header(_ name: String) -> String? { headers.first { $0.name == name }?.value }

    /// Returns the plain text and the HTML of a mail that is one of them, or that offers both with the preferred one
    /// last.
    func texts() throws(MailFault) -> (plain: String?, html: String?) {
        let type = header("content-type") ?? ""
        if type.hasPrefix("text/plain") { return (try decoded(), nil) }
        guard type.hasPrefix("multipart/alternative") else { throw MailFault("\(type) is not expected here") }
        let parts = try parts(type)
        guard parts.count == 2, parts[0].header("content-type")?.hasPrefix("text/plain") == true,
            parts[1].header("content-type")?.hasPrefix("text/html") == true
        else { throw MailFault("alternatives must be text/plain and then text/html") }
        return (try parts[0].decoded(), try parts[1].decoded())
    }

    private func parts(_ type: String) throws(MailFault) -> [MailPart] {
        guard let parameter = type.firstRange(of: "boundary=\"") else {
            throw MailFault("multipart without a boundary")
        }
        let boundary = type[parameter.upperBound...].prefix { $0 != "\"" }
        guard (1...70).contains(boundary.count) else { throw MailFault("a boundary must have 1 to 70 characters") }
        let opening = Array("--\(boundary)".utf8)
        let closing = Array("--\(boundary)--".utf8)
        guard let end = content.firstIndex(of: closing) else { throw MailFault("the last boundary is missing") }
        var parts: [MailPart] = []
        // Lines before the first boundary belong to no part.
        for lines in content[..<end].split(separator: opening, omittingEmptySubsequences: false).dropFirst() {
            parts.append(try MailPart(lines))
        }
        return parts
    }

    private func decoded() throws(MailFault) -> String {
        guard header("content-type")?.lowercased().contains("charset=utf-8") == true else {
            throw MailFault("a text that is not UTF-8")
        }
        guard header("content-transfer-encoding") == "quoted-printable" else {
            throw MailFault("an encoding other than quoted-printable")
        }
        guard let text = String(validating: try quotedPrintable(), as: UTF8.self) else {
            throw MailFault("a text is not valid UTF-8")
        }
        return text
    }

    private func quotedPrintable() throws(MailFault) -> [UInt8] {
        var output: [UInt8] = []
        for line in content {
            guard line.count <= 76 else { throw MailFault("a quoted-printable line is longer than 76 bytes") }
            var rest = line[...]
            var isSoft = false
            while let byte = rest.popFirst() {
                guard byte == UInt8(ascii: "=") else {
                    output.append(byte)
                    continue
                }
                if rest.isEmpty {
                    isSoft = true
                } else {
                    let digits = String(decoding: rest.prefix(2), as: UTF8.self)
                    guard digits.count == 2, digits == digits.uppercased(), let value = UInt8(digits, radix: 16) else {
                        throw MailFault("a broken quoted-printable escape")
                    }
                    output.append(value)
                    rest = rest.dropFirst(2)
                }
            }
            guard isSoft || line.last != 0x20 && line.last != 0x09 else { throw MailFault("a line ends with a blank") }
            if !isSoft { output.append(0x0A) }
        }
        // The last line end belongs to the boundary that follows it.
        return output.last == 0x0A ? output.dropLast() : output
    }
}

/// Reads the encoded words of a header (RFC 2047) in the only form that Bellhop's senders write: UTF-8 in Base64.
enum EncodedWords {
    /// Returns the text with every encoded word decoded, without the spaces between adjacent encoded words.
    static func decode(_ text: String) -> String {
        var output = ""
        var isBehindWord = false
        for word in text.split(separator: " ", omittingEmptySubsequences: false) {
            let decoded = decodeWord(word)
            if !output.isEmpty, !(isBehindWord && decoded != nil) { output += " " }
            output += decoded ?? String(word)
            isBehindWord = decoded != nil
        }
        return output
    }

    private static func decodeWord(_ word: Substring) -> String? {
        let frame = "=?utf-8?B?"
        guard word.lowercased().hasPrefix(frame.lowercased()), word.hasSuffix("?="), word.utf8.count <= 75 else {
            return nil
        }
        return Data(base64Encoded: String(word.dropFirst(frame.count).dropLast(2)))
            .flatMap { String(data: $0, encoding: .utf8) }
    }
}
