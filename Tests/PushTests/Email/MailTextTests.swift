import Foundation
import Testing

@testable import Push

@Suite("Texts in mails")
struct MailTextTests {
    @Test(
        "a line is one line, without control characters and changes of direction",
        arguments: [
            ("Hei\r\nBcc: x@y.example", "Hei Bcc: x@y.example"), ("  a\t\tb  ", "a b"),
            ("a\u{0}\u{1F}\u{7F}\u{85}b", "a b"),
            ("\u{202E}gnp.exe\u{202C}", "gnp.exe"), ("a\u{2028}b", "a b"), ("e\u{301}👩‍👩‍👧‍👦", "e\u{301}👩‍👩‍👧‍👦"), ("\n", ""),
        ]
    )
    func line(_ text: String, _ expected: String) {
        #expect(MailText.line(text) == expected)
    }

    @Test("a text is split at every line break, and keeps tabs and blanks")
    func lines() {
        #expect(MailText.lines("a\r\nb\n\nc\rd\u{2029}e\tf \u{1}") == ["a", "b", "", "c", "d", "e\tf "])
        #expect(MailText.lines("") == [""])
    }

    /// The maximum length of a line before its continuation mark.
    private static let full = String(repeating: "a", count: 75)

    private static let quotations: [(String, String)] = [
        ("plain", "plain\r\n"), ("æ=", "=C3=A6=3D\r\n"), ("end ", "end=20\r\n"), ("tab\t", "tab=09\r\n"),
        (".dot", "=2Edot\r\n"), ("From me", "=46rom me\r\n"), ("", "\r\n"), ("\(full)a", "\(full)a\r\n"),
        ("\(full)aa", "\(full)=\r\naa\r\n"), ("\(full).", "\(full).\r\n"),
        ("\(full).b", "\(full)=\r\n=2Eb\r\n"),
    ]

    @Test("quoted-printable follows RFC 2045", arguments: quotations)
    func quotedPrintable(_ line: String, _ expected: String) {
        #expect(String(decoding: QuotedPrintable.encode([line]), as: UTF8.self) == expected)
    }

    @Test(
        "a short ASCII subject is unchanged, and any other is encoded",
        arguments: [
            ("Hello", "Hello"), ("Blåbær", "=?utf-8?B?QmzDpWLDpnI=?="),
            ("=?utf-8?B?QQ==?=", "=?utf-8?B?PT91dGYtOD9CP1FRPT0/PQ==?="),
        ]
    )
    func subject(_ text: String, _ expected: String) {
        #expect(EncodedHeader.text(text) == expected)
    }

    @Test("a long subject becomes words of at most 75 bytes, cut between characters")
    func longSubject() {
        let encoded = EncodedHeader.text(String(repeating: "a👍🏽é", count: 60))
        let words = encoded.components(separatedBy: "\r\n ")
        #expect(words.count > 5)
        #expect(words.allSatisfy { $0.utf8.count <= 75 && $0.hasPrefix("=?utf-8?B?") && $0.hasSuffix("?=") })
    }

    @Test("a character longer than an encoded word is cut between its scalars")
    func monstrousCharacter() {
        let text = "e" + String(repeating: "\u{301}", count: 100)
        #expect(text.count == 1)
        let words = EncodedHeader.text(text).components(separatedBy: "\r\n ")
        #expect(words.count > 3 && words.allSatisfy { $0.utf8.count <= 75 })
    }

    @Test("a name in ASCII is quoted, with the necessary escapes")
    func phrase() {
        #expect(EncodedHeader.phrase(#"Drop "Pay" \ Co"#) == #""Drop \"Pay\" \\ Co""#)
        #expect(EncodedHeader.phrase("Drøp") == "=?utf-8?B?RHLDuHA=?=")
    }

    @Test(
        "a date has the format of RFC 5322, and is never out of range",
        arguments: [
            (1_771_163_100, "Sun, 15 Feb 2026 13:45:00 +0000"), (0, "Thu, 01 Jan 1970 00:00:00 +0000"),
            (951_782_400, "Tue, 29 Feb 2000 00:00:00 +0000"), (Int64.max, "Fri, 31 Dec 9999 23:59:59 +0000"),
            (Int64.min, "Mon, 01 Jan 1900 00:00:00 +0000"),
        ] as [(Int64, String)]
    )
    func date(_ seconds: Int64, _ expected: String) {
        #expect(MailDate.text(secondsSince1970: seconds) == expected)
    }
}
