import Push
import Testing

@Suite("Sender addresses of mails")
struct MailboxTests {
    @Test(
        "a name with an address, or an address alone, is read",
        arguments: [
            ("Drop <a@b.example>", "Drop", "a@b.example"), ("a@b.example", "", "a@b.example"), ("<a@b>", "", "a@b"),
            (#""Drop, Inc." <x+y@b.example>"#, "Drop, Inc.", "x+y@b.example"), ("Drøp Ø <a@b>", "Drøp Ø", "a@b"),
        ]
    )
    func reads(_ text: String, _ name: String, _ address: String) throws {
        let mailbox = try #require(Mailbox(text))
        #expect(mailbox.name == name)
        #expect(mailbox.address == address)
    }

    @Test(
        "a text that could begin another header, or has no plain address, is rejected",
        arguments: [
            "", "Drop", "Drop <>", "Drop <a@b", "Drop\r\nBcc: <a@b>", "D\u{202E}rop <a@b>", "Drop <a@b> <c@d>x",
            "a@b@c",
            "Drop <å@b>", "Drop <a@b c>", "Drop <a\r\n@b>", "Drop  \t twice <a@b>",
        ]
    )
    func refuses(_ text: String) {
        #expect(Mailbox(text) == nil)
    }

    @Test("the domain is the part after the @")
    func domain() throws {
        #expect(try #require(Mailbox("Drop <a@mail.drop.example>")).domain == "mail.drop.example")
    }
}
