import Testing

@testable import Sandbox

@Suite("Mails that the mail server accepts")
struct MailCheckTests {
    private static let head = [
        "Date: Sun, 15 Feb 2026 13:45:00 +0000", "From: Drop <a@b.example>", "To: <c@d.example>",
        "Subject: =?utf-8?B?w6U=?=",
        "Message-ID: <1@b.example>", "List-Unsubscribe: <https://b.example/u/1>",
        "List-Unsubscribe-Post: List-Unsubscribe=One-Click", "MIME-Version: 1.0",
    ]
    private static let parts = [
        "Content-Type: multipart/alternative;", " boundary=\"=_x\"", "", "--=_x",
        "Content-Type: text/plain; charset=utf-8",
        "Content-Transfer-Encoding: quoted-printable", "", "H=C3=A6 =", "ho", "--=_x",
        "Content-Type: text/html; charset=utf-8", "Content-Transfer-Encoding: quoted-printable", "", "<p>Hei</p>",
        "--=_x--",
    ]

    private func read(_ lines: [String]) -> Result<ReceivedMail, MailFault> {
        ReceivedMail.read(lines.map { Array($0.utf8) })
    }

    @Test("a valid mail is divided into its parts")
    func good() throws {
        let mail = try read(Self.head + Self.parts).get()
        #expect(mail.text == "Hæ ho" && mail.html == "<p>Hei</p>")
        #expect(mail.header("subject").map(EncodedWords.decode) == "å")
        #expect(mail.header("content-type") == "multipart/alternative; boundary=\"=_x\"")
    }

    @Test("a mail with a missing or duplicate header is rejected", arguments: head.indices)
    func headers(_ index: Int) throws {
        var missing = Self.head
        let line = missing.remove(at: index)
        #expect(throws: MailFault.self) { try read(missing + Self.parts).get() }
        guard !line.hasPrefix("List-") else { return }
        #expect(throws: MailFault.self) { try read([line] + Self.head + Self.parts).get() }
    }

    @Test(
        "a mail that a strict receiver would reject is rejected",
        arguments: [
            ("Date: Sun", "Date: yesterday", "date"), ("<1@b.example>", "1@b.example", "message-id"),
            ("<c@d.example>", "c@d.example", "angle"), ("One-Click", "Two-Clicks", "list-unsubscribe-post"),
            ("<https://b", "<http://b", "list-unsubscribe"), ("MIME-Version: 1.0", "MIME-Version: 1.1", "mime-version"),
            ("Hei", "H\u{E6}i", "8-bit"), ("Hei", "H\u{1}i", "control"), ("=C3=A6", "=C3", "UTF-8"),
            ("=C3=A6", "=c3=a6", "escape"),
            ("=C3=A6", "=ZZ", "escape"), ("--=_x--", "", "boundary"), ("boundary=\"=_x\"", "", "boundary"),
            ("text/plain", "text/html", "alternatives"), ("charset=utf-8", "charset=latin1", "UTF-8"),
            ("ho", "ho ", "blank"),
            ("quoted-printable", "8bit", "quoted-printable"), ("multipart/alternative", "multipart/mixed", "expected"),
            ("ho", String(repeating: "h", count: 77), "76"), ("Subject:", "Sub ject:", "no name"),
        ]
    )
    func refuses(_ part: String, _ replacement: String, _ word: String) {
        var isChanged = false
        let lines = (Self.head + Self.parts).map { line in
            guard !isChanged, line.contains(part) else { return line }
            isChanged = true
            return line.replacing(part, with: replacement, maxReplacements: 1)
        }
        #expect(isChanged)
        guard case .failure(let fault) = read(lines) else {
            Issue.record("it was taken")
            return
        }
        #expect(fault.text.contains(word), "\(fault.text)")
    }

    @Test("an empty text, and one that begins with a continuation line, are not mails")
    func nonsense() {
        #expect(throws: MailFault.self) { try read([]).get() }
        #expect(throws: MailFault.self) { try read([" x", ""]).get() }
    }
}
