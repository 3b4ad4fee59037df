import BellhopRules
import Foundation
import HTTPTransfer
import Push
import TestSupport
import Testing

@Suite("Building of mails")
struct EmailBuilderTests {
    private static let sentAt: Int64 = 1_771_163_100

    private func text(_ message: EmailMessage, _ letterhead: EmailBranding? = nil) throws -> String {
        let letterhead = try letterhead ?? Mails.letterhead()
        let mail = try #require(EmailBuilder.mail(message, letterhead, secondsSince1970: Self.sentAt))
        return String(decoding: mail.content, as: UTF8.self)
    }

    /// Returns the lines before the first blank one.
    private func head(_ mail: String) -> [String] {
        Array(mail.components(separatedBy: "\r\n").prefix { !$0.isEmpty })
    }

    @Test("a mail has every header that receivers require, once, and no other")
    func headers() throws {
        let lines = head(try text(try Mails.message()))
        let names = lines.filter { !$0.hasPrefix(" ") }.compactMap { $0.split(separator: ":").first.map(String.init) }
        #expect(
            names == [
                "Date", "From", "To", "Message-ID", "Subject", "Auto-Submitted", "Content-Language", "List-Unsubscribe",
                "List-Unsubscribe-Post", "MIME-Version", "Content-Type",
            ]
        )
        #expect(lines.contains("Date: Sun, 15 Feb 2026 13:45:00 +0000"))
        #expect(lines.contains("From: =?utf-8?B?RHLDuHA=?="))
        #expect(lines.contains(" <no-reply@drop.example>"))
        #expect(lines.contains("To: <kari@example.com>"))
        #expect(lines.contains("Message-ID: <noti_00000000000000ab@drop.example>"))
        #expect(lines.contains("Content-Language: nb"))
        #expect(lines.contains("List-Unsubscribe-Post: List-Unsubscribe=One-Click"))
    }

    @Test("the plain part comes before the HTML part")
    func order() throws {
        let mail = try text(try Mails.message())
        let plain = try #require(mail.firstRange(of: "text/plain; charset=utf-8"))
        let html = try #require(mail.firstRange(of: "text/html; charset=utf-8"))
        #expect(plain.lowerBound < html.lowerBound)
        #expect(mail.hasSuffix("\r\n--=_noti_00000000000000ab--\r\n"))
    }

    @Test("the same message at the same time gives the same bytes, and a later repeat differs only in its date")
    func stable() throws {
        let letterhead = try Mails.letterhead()
        let message = try Mails.message()
        let first = EmailBuilder.mail(message, letterhead, secondsSince1970: Self.sentAt)
        #expect(first?.content == EmailBuilder.mail(message, letterhead, secondsSince1970: Self.sentAt)?.content)
        let later = try #require(EmailBuilder.mail(message, letterhead, secondsSince1970: Self.sentAt + 60))
        let lines = String(decoding: later.content, as: UTF8.self).components(separatedBy: "\r\n")
        let before = try text(message).components(separatedBy: "\r\n")
        #expect(zip(lines, before).filter { $0 != $1 }.map(\.0) == ["Date: Sun, 15 Feb 2026 13:46:00 +0000"])
    }

    @Test("a mail is ASCII in short lines, and a producer's text adds no header")
    func hostile() throws {
        var generator = SeededChance.announced("hostile mails")
        let usual = head(try text(try Mails.message())).filter { !$0.hasPrefix(" ") }.count
        for index in 0..<SeededChance.rounds(300) {
            let mail = try text(try RandomMail.message(notification: UInt64(index), using: &generator))
            #expect(mail.utf8.allSatisfy { ($0 >= 0x20 && $0 < 0x7F) || [0x09, 0x0A, 0x0D].contains($0) })
            let lines = mail.components(separatedBy: "\r\n")
            #expect(!lines.contains { $0.contains("\r") || $0.contains("\n") })
            #expect(lines.allSatisfy { $0.utf8.count <= 998 })
            #expect(head(mail).filter { !$0.hasPrefix(" ") }.count == usual)
            #expect(lines.count { $0.hasPrefix("--=_noti_") } == 3)
            #expect(!lines.contains { $0.hasPrefix(".") })
        }
    }

    @Test("the longest configured values keep every line within 998 bytes")
    func longest() throws {
        let base = "https://" + String(repeating: "a", count: 392)
        var message = try Mails.message()
        message.user = try #require(UserID(validating: String(repeating: "u", count: 255)))
        message.app = try #require(AppID(validating: "a" + String(repeating: "b", count: 31)))
        let mail = try text(message, try Mails.letterhead(unsubscribe: base))
        #expect(mail.components(separatedBy: "\r\n").allSatisfy { $0.utf8.count <= 998 })
    }

    @Test(
        "a link never leaves the app's host, and is visible ASCII",
        arguments: [
            ("/a b", "https://drop.example/a%20b"), ("//evil.example", "https://drop.example//evil.example"),
            ("javascript:alert(1)", "https://drop.example/javascript:alert(1)"),
            ("@evil.example", "https://drop.example/@evil.example"),
            ("/å\r\n\"<>", "https://drop.example/%C3%A5%0D%0A%22%3C%3E"),
            ("https://evil.example/", "https://drop.example/https://evil.example/"),
        ]
    )
    func links(_ path: String, _ expected: String) throws {
        var message = try Mails.message()
        message.webPath = path
        let decoded = try PlainMail(try text(message)).text
        #expect(decoded.components(separatedBy: "\n").contains(expected), "\(decoded)")
    }

    @Test("HTML escapes all external text")
    func escapes() throws {
        let message = try Mails.message(#"<script>alert("1")</script>"#, "a & b < c > d \"e\" 'f'</p><img src=x>")
        let html = try PlainMail(try text(message)).html
        #expect(!html.contains("<script>") && !html.contains("<img"))
        #expect(html.contains("&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;"))
        #expect(html.contains("a &amp; b &lt; c &gt; d &quot;e&quot; &#39;f&#39;&lt;/p&gt;"))
    }

    @Test(
        "Bellhop's own texts are in the user's language, or in English",
        arguments: [
            ("nb", "Åpne", "Meld deg av varsler på e-post"), ("nn-NO", "Åpne", "Meld deg av varsler på e-post"),
            ("sv-SE", "Öppna", "Avsluta notiser via e-post"),
            ("en-GB", "Open", "Unsubscribe from email notifications"),
            ("ar", "Open", "Unsubscribe from email notifications"),
        ]
    )
    func languages(_ tag: String, _ open: String, _ unsubscribe: String) throws {
        let mail = try PlainMail(try text(try Mails.message(language: tag)))
        #expect(mail.text.contains("\(open):\n") && mail.html.contains(">\(open)</a>"))
        #expect(mail.text.contains("\(unsubscribe):\n") && mail.html.contains("\(unsubscribe)</a>"))
        #expect(mail.html.contains("<html lang=\"\(tag)\" dir=\"\(tag == "ar" ? "rtl" : "ltr")\">"))
    }

    @Test("blank lines end paragraphs, single breaks only lines; without a link there is no button")
    func shape() throws {
        var message = try Mails.message("t", "a\nb\n\n \nc\n")
        message.webPath = nil
        let html = try PlainMail(try text(message)).html
        #expect(html.contains(">a<br>b</p>") && html.contains(">c</p>"))
        #expect(!html.contains("class=\"button\" href"))
    }

    @Test("a title without visible characters is replaced by the app's name")
    func emptyTitle() throws {
        #expect(try text(try Mails.message("\u{202E}\n ")).contains("Subject: =?utf-8?B?RHLDuHA=?="))
    }

    @Test(
        "an address that not every server accepts gets no mail",
        arguments: ["kåre@example.com", "a..b@example.com", ".a@example.com", "a@é.no"]
    )
    func addresses(_ address: String) throws {
        let letterhead = try Mails.letterhead()
        #expect(EmailBuilder.mail(try Mails.message(to: address), letterhead, secondsSince1970: 0) == nil)
    }
}

/// The two parts of a mail, decoded in the simplest way, so that the decoder is easy to verify.
struct PlainMail {
    let text: String
    let html: String

    init(_ mail: String) throws {
        let parts = mail.components(separatedBy: "\r\n--=_noti_")
        try #require(parts.count == 4)
        text = Self.decoded(parts[1])
        html = Self.decoded(parts[2])
    }

    private static func decoded(_ part: String) -> String {
        let body = part.components(separatedBy: "\r\n\r\n").dropFirst().joined(separator: "\r\n\r\n")
        var bytes: [UInt8] = []
        var rest = Array(body.replacing("=\r\n", with: "").replacing("\r\n", with: "\n").utf8)[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "="),
                let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16)
            else {
                bytes.append(byte)
                continue
            }
            bytes.append(value)
            rest = rest.dropFirst(2)
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
