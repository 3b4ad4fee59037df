import Foundation

/// Texts as the head of a mail may hold them (RFC 5322, RFC 2047): ASCII, in short lines.
enum HeaderWords {
    /// An encoded word is at most 75 bytes: 12 of frame and 60 of Base64, which hold 45.
    private static let bytesPerWord = 45

    /// A text without structure, such as a subject.
    static func text(_ text: String) -> String {
        let line = MailText.line(text)
        return isPlain(line) && line.utf8.count <= 56 ? line : encoded(line)
    }

    /// A name in front of an address; one in ASCII stays on its line, since some readers keep the blanks between the encoded
    /// words of a name.
    static func phrase(_ text: String) -> String {
        let line = MailText.line(text)
        guard isPlain(line) else { return encoded(line) }
        let escaped = line.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
        return "\"\(escaped)\""
    }

    /// Visible ASCII that cannot be taken for an encoded word.
    private static func isPlain(_ line: String) -> Bool {
        !line.contains("=?") && line.utf8.allSatisfy { $0 >= 0x20 && $0 < 0x7F }
    }

    /// Encoded words, one per line, cut between characters so that each can be read by itself.
    private static func encoded(_ line: String) -> String {
        var words: [[UInt8]] = [[]]
        for character in line {
            for piece in pieces(of: character) {
                if words[words.count - 1].count + piece.count > bytesPerWord { words.append([]) }
                words[words.count - 1] += piece
            }
        }
        return words.map { "=?utf-8?B?\(Data($0).base64EncodedString())?=" }.joined(separator: "\r\n ")
    }

    /// The character's bytes in one piece, or a piece per scalar where it is longer than a word holds.
    private static func pieces(of character: Character) -> [[UInt8]] {
        let whole = Array(character.utf8)
        guard whole.count > bytesPerWord else { return [whole] }
        return character.unicodeScalars.map { Array(String($0).utf8) }
    }
}
