import Foundation
import Glibc

/// Encodes texts for the head of a mail (RFC 5322, RFC 2047): ASCII, in short lines.
enum EncodedHeader {
    /// The number of text bytes per encoded word.
    ///
    /// An encoded word has at most 75 bytes: 12 for the frame and 60 of Base64, which encode 45.
    private static let bytesPerWord = 45

    /// Returns a text without structure, such as a subject.
    static func text(_ text: String) -> String {
        let line = MailText.line(text)
        return isPlain(line) && line.utf8.count <= 56 ? line : encoded(line)
    }

    /// Returns a name for the position before an address.
    ///
    /// An ASCII name stays on its line, because some mail programs keep the blanks between the encoded words of a name.
    static func phrase(_ text: String) -> String {
        let line = MailText.line(text)
        guard isPlain(line) else { return encoded(line) }
        let escaped = line.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
        return "\"\(escaped)\""
    }

    /// Returns whether a line is visible ASCII that cannot be mistaken for an encoded word.
    private static func isPlain(_ line: String) -> Bool {
        !line.contains("=?") && line.utf8.allSatisfy { $0 >= 0x20 && $0 < 0x7F }
    }

    /// Returns encoded words, one per line, cut between characters so that each word can be decoded alone.
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

    /// Returns the character's bytes in one piece, or one piece per scalar if the character is too long for a word.
    private static func pieces(of character: Character) -> [[UInt8]] {
        let whole = Array(character.utf8)
        guard whole.count > bytesPerWord else { return [whole] }
        return character.unicodeScalars.map { Array(String($0).utf8) }
    }
}

/// Formats instants for the head of a mail (RFC 5322 §3.3), always in UTC.
enum MailDate {
    private static let days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    /// Returns a text such as `Sun, 15 Feb 2026 13:45:00 +0000`.
    ///
    /// Years outside 1900 to 9999, which the format does not support, are clamped.
    static func text(secondsSince1970 seconds: Int64) -> String {
        var time = time_t(min(max(seconds, -2_208_988_800), 253_402_300_799))
        var fields = tm()
        gmtime_r(&time, &fields)
        let day = days[Int(fields.tm_wday)]
        let month = months[Int(fields.tm_mon)]
        let clock = [fields.tm_hour, fields.tm_min, fields.tm_sec].map(twoDigits).joined(separator: ":")
        return "\(day), \(twoDigits(fields.tm_mday)) \(month) \(fields.tm_year + 1900) \(clock) +0000"
    }

    private static func twoDigits(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
}
