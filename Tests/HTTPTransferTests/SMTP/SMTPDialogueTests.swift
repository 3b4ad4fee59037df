import Testing

@testable import HTTPTransfer

@Suite("Tracking an SMTP dialogue")
struct SMTPDialogueTests {
    /// Plays lines of a dialogue.
    ///
    /// Lines that begin with `>` are sent, the others are received.
    private func play(_ lines: [String]) -> SMTPDialogue {
        var dialogue = SMTPDialogue()
        for line in lines {
            let isOut = line.hasPrefix(">")
            Array((isOut ? String(line.dropFirst()) : line).utf8 + [0x0D, 0x0A]).withUnsafeBytes { bytes in
                isOut ? dialogue.sent(bytes) : dialogue.received(bytes)
            }
        }
        return dialogue
    }

    private static let opening = ["220 hi", ">EHLO us", "250-hi", "250 AUTH PLAIN LOGIN"]
    private static let ready = opening + [">MAIL FROM:<a@b>", "250 2.1.0 ok", ">RCPT TO:<c@d>", "250 2.1.5 ok"]

    @Test(
        "every reply is assigned to the step that it answers",
        arguments: [
            ([], .connect, nil), (["554 no"], .connect, 554), (opening, .ehlo, 250),
            (opening + [">STARTTLS", "454 4.7.0 no"], .starttls, 454), (opening + [">AUTH PLAIN"], .auth, nil),
            (opening + [">MAIL FROM:<a@b>", "250 ok"], .mail, 250), (ready, .rcpt, 250),
            (ready + [">DATA", "554 no"], .data, 554),
            (ready + [">DATA", "354 go"], .endOfData, nil),
            (ready + [">DATA", "354 go", "250 2.0.0 ok"], .endOfData, 250),
        ] as [([String], MailPhase, Int?)]
    )
    func phases(_ lines: [String], _ phase: MailPhase, _ code: Int?) {
        let dialogue = play(lines)
        #expect(dialogue.phase == phase)
        #expect(dialogue.reply?.code == code)
    }

    @Test("a password that looks like a command is not taken for one")
    func credentials() {
        let dialogue = play(
            Self.opening + [">AUTH LOGIN", "334 VXNlcm5hbWU6", ">DATA", "334 UGFzc3dvcmQ6", ">QUIT", "535 5.7.8 no"]
        )
        #expect(dialogue.phase == .auth)
        #expect(dialogue.reply?.code == 535)
    }

    @Test("QUIT and its reply do not count towards a mail")
    func farewell() {
        let dialogue = play(Self.ready + [">DATA", "354 go", "550 5.7.1 no", ">QUIT", "221 bye"])
        #expect(dialogue.isOver)
        #expect(dialogue.phase == .endOfData && dialogue.reply?.code == 550)
    }

    @Test("a reply of several lines counts when it is complete, and its text is kept in printable ASCII")
    func lines() {
        #expect(play(["220-one", "220-two"]).reply == nil)
        let reply = play(["550-5.1.1 Nobo\u{1}dy", "550 5.1.1 hér"]).reply
        #expect(reply?.words == "5.1.1 Nobo?dy 5.1.1 h??r")
        #expect(reply?.status == EnhancedStatus(5, 1, 1))
    }

    @Test("a malformed reply is ignored", arguments: ["", "hello", "99 x", "600 x", "25", "-250 x"])
    func nonsense(_ line: String) {
        #expect(play([line]).reply == nil)
    }

    @Test(
        "an enhanced status is three numbers, of which the first is 2, 4 or 5",
        arguments: [
            ("5.1.1 x", EnhancedStatus(5, 1, 1)), ("4.7.26", EnhancedStatus(4, 7, 26)), ("3.1.1 x", nil),
            ("5.1 x", nil),
            ("5.1.1.1 x", nil), ("5.1.1000 x", nil), ("5.-1.1 x", nil), ("", nil), ("5..1 x", nil), ("five", nil),
        ] as [(String, EnhancedStatus?)]
    )
    func statuses(_ words: String, _ status: EnhancedStatus?) {
        #expect(EnhancedStatus(beginning: words) == status)
    }

    @Test("an endless reply uses a bounded amount of memory")
    func endless() {
        var dialogue = SMTPDialogue()
        for _ in 0..<10_000 {
            Array("250-x\r\n".utf8).withUnsafeBytes { dialogue.received($0) }
        }
        Array("250 x\r\n".utf8).withUnsafeBytes { dialogue.received($0) }
        #expect((dialogue.reply?.words.utf8.count ?? 0) <= 512)
    }
}
