import BellhopRules
import Push
import TestSupport
import Testing

/// Mails of every shape: hostile characters in texts, links and addresses.
enum RandomMail {
    private static let pieces: [String] = [
        "a", "Z", " ", "\n", "\r", "\r\n", "\n\n", "\t", "\"", "'", "\\", "<", ">", "&", "=", "=?utf-8?B?QQ==?=", ".",
        "\n.\n",
        "\nFrom ", "\u{0}", "\u{1F}", "\u{7F}", "\u{85}", "é", "e\u{301}", "æøå", "漢字", "👍🏽", "👩‍👩‍👧‍👦", "\u{202E}",
        "\u{2066}",
        "\u{2028}", "\u{FEFF}", "</style>", "<script>", "Bcc: x@y.example", "--=_", "{{", "%0d%0a", "word word word",
    ]

    static func text(atMost longest: Int, using generator: inout SeededChance) -> String {
        let count = Int.random(in: 0...Int.random(in: 0...longest, using: &generator), using: &generator)
        return (0..<count).reduce(into: "") { text, _ in text += pieces.randomElement(using: &generator) ?? "-" }
    }

    static func message(notification: UInt64, using generator: inout SeededChance) throws -> EmailMessage {
        let locals = ["kari", "o'hara+tag", "a.b", "x{}|~#$&*/=?^_`", "user-1"]
        let local = try #require(locals.randomElement(using: &generator))
        let language = try #require(["nb", "en", "ar", "sv-SE", "zh-Hant"].randomElement(using: &generator))
        var message = try Mails.message(
            text(atMost: 120, using: &generator),
            text(atMost: 400, using: &generator),
            to: "\(local)@example.com",
            language: language,
            notification: notification
        )
        message.webPath = Bool.random(using: &generator) ? text(atMost: 40, using: &generator) : nil
        return message
    }
}
