import Foundation

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
