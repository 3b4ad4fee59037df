import HTTPTransfer
import Push
import Testing

@Suite("Verdicts on mails")
struct EmailAnswerTests {
    typealias Row = (code: Int, status: EnhancedStatus?, words: String, phase: MailPhase, verdict: Verdict)

    private static let minute = Duration.seconds(60)
    private static let fiveMinutes = Duration.seconds(300)
    private static let hour = Duration.seconds(3600)
    private static let later = Verdict.retry(.temporarilyRefused, notBefore: minute, scope: .message)
    private static let serverLater = Verdict.retry(.temporarilyRefused, notBefore: minute, scope: .provider)
    private static let greylisted = Verdict.retry(.temporarilyRefused, notBefore: fiveMinutes, scope: .message)
    private static let mailboxFull = Verdict.retry(.mailboxFull, notBefore: hour, scope: .message)
    private static let noLogin = Verdict.configError(.authenticationRefused, scope: .provider)
    private static let badSender = Verdict.configError(.senderRefused, scope: .provider)
    private static let badPolicy = Verdict.configError(.refusedByPolicy, scope: .provider)
    private static let confused = Verdict.configError(.protocolViolation, scope: .provider)
    private static let refusedService = Verdict.configError(.serviceRefused, scope: .provider)

    private static let temporary: [Row] = [
        (421, nil, "", .connect, .retry(.serverClosing, notBefore: minute, scope: .provider)),
        (421, EnhancedStatus(4, 7, 0), "", .rcpt, .retry(.serverClosing, notBefore: minute, scope: .provider)),
        (421, nil, "", .endOfData, .retry(.serverClosing, notBefore: minute, scope: .provider)),
        (450, nil, "greylisted", .rcpt, greylisted), (451, EnhancedStatus(4, 7, 1), "", .rcpt, greylisted),
        (450, EnhancedStatus(4, 2, 1), "", .rcpt, greylisted), (451, nil, "", .endOfData, greylisted),
        (451, nil, "", .mail, greylisted), (452, EnhancedStatus(4, 3, 1), "", .mail, later),
        (452, nil, "", .rcpt, later), (452, EnhancedStatus(4, 2, 2), "", .rcpt, mailboxFull),
        (432, nil, "", .data, later), (499, nil, "", .endOfData, later), (450, nil, "", .connect, serverLater),
        (451, nil, "", .ehlo, serverLater), (454, nil, "", .starttls, serverLater),
        (454, EnhancedStatus(4, 7, 0), "", .auth, serverLater), (454, nil, "", .mail, serverLater),
    ]

    private static let recipients: [Row] = [
        (550, EnhancedStatus(5, 1, 1), "", .rcpt, .payloadError(.mailboxUnknown)),
        (550, EnhancedStatus(5, 1, 10), "", .rcpt, .payloadError(.mailboxUnknown)),
        (550, nil, "no such user", .rcpt, .payloadError(.mailboxUnknown)),
        (551, nil, "", .rcpt, .payloadError(.mailboxUnknown)), (553, nil, "", .rcpt, .payloadError(.mailboxUnknown)),
        (555, nil, "", .rcpt, .payloadError(.mailboxUnknown)), (501, nil, "", .rcpt, .payloadError(.mailboxUnknown)),
        (500, nil, "", .rcpt, .payloadError(.mailboxUnknown)),
        (504, EnhancedStatus(5, 5, 2), "<x@y>: Recipient address rejected", .rcpt, .payloadError(.mailboxUnknown)),
        (504, EnhancedStatus(5, 5, 2), "<a>: Helo command rejected", .rcpt, badSender),
        (553, nil, "<x@y>: Sender address rejected", .rcpt, badSender),
        (550, nil, "<helo@example.com>: no such user", .rcpt, .payloadError(.mailboxUnknown)),
        (504, EnhancedStatus(5, 7, 1), "SPF", .rcpt, badPolicy),
        (550, EnhancedStatus(5, 7, 1), "<dkimball@example.com>: rejected", .rcpt, .payloadError(.refusedByPolicy)),
        (556, EnhancedStatus(5, 1, 10), "", .rcpt, .payloadError(.mailboxUnknown)),
        (554, EnhancedStatus(5, 1, 1), "", .rcpt, .payloadError(.mailboxUnknown)),
        (554, nil, "", .rcpt, .payloadError(.refusedByPolicy)),
        (550, EnhancedStatus(5, 2, 2), "", .rcpt, mailboxFull), (552, EnhancedStatus(5, 2, 2), "", .rcpt, mailboxFull),
        (552, EnhancedStatus(5, 2, 2), "", .endOfData, mailboxFull),
        (550, EnhancedStatus(5, 7, 1), "blocked", .rcpt, .payloadError(.refusedByPolicy)),
        (554, EnhancedStatus(5, 7, 1), "Relay access denied", .rcpt, badPolicy),
    ]

    private static let contents: [Row] = [
        (552, nil, "", .mail, .payloadError(.payloadTooLarge)),
        (552, EnhancedStatus(5, 3, 4), "", .mail, .payloadError(.payloadTooLarge)),
        (554, EnhancedStatus(5, 3, 4), "", .endOfData, .payloadError(.payloadTooLarge)),
        (552, EnhancedStatus(5, 2, 3), "", .endOfData, .payloadError(.payloadTooLarge)),
        (550, EnhancedStatus(5, 2, 3), "", .endOfData, .payloadError(.payloadTooLarge)),
        (554, EnhancedStatus(5, 7, 1), "spam", .endOfData, .payloadError(.refusedByPolicy)),
        (550, EnhancedStatus(5, 7, 1), "DMARC policy", .endOfData, badPolicy),
        (550, EnhancedStatus(5, 7, 1), "SPF check failed", .endOfData, badPolicy),
        (550, EnhancedStatus(5, 7, 20), "", .endOfData, badPolicy),
        (550, EnhancedStatus(5, 7, 26), "", .endOfData, badPolicy),
        (554, EnhancedStatus(5, 7, 0), "Reject - SPAM", .endOfData, .payloadError(.refusedByPolicy)),
        (500, nil, "line too long", .endOfData, .payloadError(.messageRefused)),
        (554, nil, "no", .endOfData, .payloadError(.messageRefused)),
        (554, nil, "", .data, .payloadError(.messageRefused)),
        (550, EnhancedStatus(5, 6, 0), "", .endOfData, .payloadError(.messageRefused)),
    ]

    private static let ours: [Row] = [
        (530, nil, "", .mail, noLogin), (530, EnhancedStatus(5, 7, 0), "", .mail, noLogin),
        (534, nil, "", .auth, noLogin),
        (535, EnhancedStatus(5, 7, 8), "", .auth, noLogin), (538, nil, "", .auth, noLogin),
        (550, nil, "", .auth, noLogin),
        (500, nil, "", .mail, confused), (502, nil, "", .mail, confused), (503, nil, "", .data, confused),
        (504, nil, "", .auth, confused), (550, nil, "", .mail, badSender), (501, nil, "", .mail, badSender),
        (553, EnhancedStatus(5, 1, 8), "", .mail, badSender), (550, EnhancedStatus(5, 7, 1), "", .mail, badSender),
        (554, nil, "", .connect, refusedService), (554, EnhancedStatus(5, 7, 1), "blocked", .connect, refusedService),
        (550, nil, "", .ehlo, refusedService), (554, nil, "", .starttls, refusedService),
    ]

    @Test("every row of the table of replies has its verdict", arguments: temporary + recipients + contents + ours)
    func rows(_ row: Row) {
        let reply = SMTPReply(code: row.code, status: row.status, words: row.words)
        #expect(EmailAnswer.read(.refused(reply, at: row.phase)) == row.verdict)
    }

    @Test("every reply code at every step has a matching verdict")
    func allReplies() {
        for code in 400...599 {
            for phase in MailPhase.allCases {
                let verdict = EmailAnswer.read(.refused(SMTPReply(code: code), at: phase))
                #expect(code >= 500 || verdict.kind == .retry)
                #expect(code < 500 || verdict.kind == .configError || verdict.kind == .payloadError)
                #expect((verdict.notBefore ?? Self.minute) >= Self.minute)
            }
        }
    }

    @Test("an accepted mail is delivered, under its Message-ID")
    func accepted() {
        let outcome = MailOutcome.accepted(SMTPReply(code: 250))
        #expect(EmailAnswer.read(outcome, messageID: "<a@b>") == .delivered(providerMessageID: "<a@b>"))
    }

    @Test("a server without encryption or a supported authentication is a config error")
    func lacks() {
        #expect(EmailAnswer.read(.unsuitable(.encryption)) == .configError(.encryptionMissing, scope: .provider))
        #expect(EmailAnswer.read(.unsuitable(.authentication)) == Self.noLogin)
    }

    @Test(
        "a mail that was not sent may be retried, unless the settings are the cause",
        arguments: [
            (TransferError.Code.nameLookup, Verdict.retry(.nameLookup, notBefore: minute, scope: .provider)),
            (.connect, .retry(.connect, notBefore: minute, scope: .provider)),
            (.tls, .retry(.tls, notBefore: minute, scope: .provider)),
            (.timeout, .retry(.timeout, notBefore: minute, scope: .provider)),
            (.connectionLost, .retry(.connectionLost, notBefore: minute, scope: .message)),
            (.certificate, .configError(.certificate, scope: .provider)),
            (.cancelled, .retry(.cancelled, notBefore: .zero, scope: .message)),
        ]
    )
    func notSent(_ code: TransferError.Code, _ verdict: Verdict) {
        #expect(EmailAnswer.read(.notSent(TransferError(code, "x"))) == verdict)
    }

    @Test("a mail whose end was sent and not answered is unknown")
    func unknown() {
        let outcome = MailOutcome.unknown(TransferError(.timeout, "x"))
        #expect(EmailAnswer.read(outcome) == .unknown(.timeout, notBefore: Self.minute))
    }
}
