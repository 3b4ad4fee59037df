import Foundation

/// One client's dialogue (RFC 5321): strict about order, lengths and line ends, befallen by faults, recorded.
final class MailDialogue {
    enum Next {
        case goOn
        case end
    }

    let office: MailOffice
    let link: MailLink
    private let connection: UInt64
    var hasGreeted = false
    var isSignedIn = false
    var envelope = MailEnvelope()

    private static let longestCommand = 512

    init(office: MailOffice, link: MailLink, connection: UInt64) {
        self.office = office
        self.link = link
        self.connection = connection
    }

    /// Serves the client until either side ends it.
    func run(isSecureFromTheStart: Bool) {
        if isSecureFromTheStart, !link.secure(office.tls) { return }
        guard case .goOn = say(MailReply(220, "sandbox.bellhop.example ESMTP"), at: .connect) else { return }
        while let line = link.readLine(limit: Self.longestCommand) {
            guard case .goOn = react(to: line) else { break }
        }
        link.sayGoodbye()
    }

    private func react(to line: MailLink.Line) -> Next {
        guard case .text(let bytes) = line else {
            let problem = line == .tooLong ? "a command is too long" : "a line ends with a bare CR or LF"
            return refuse(MailReply(500, "5.5.2 \(problem)"), at: phase, because: problem)
        }
        guard bytes.allSatisfy({ $0 >= 0x20 && $0 < 0x7F }) else {
            return refuse(MailReply(500, "5.5.2 Only ASCII"), at: phase, because: "a command is not ASCII")
        }
        let text = String(decoding: bytes, as: UTF8.self)
        let words = text.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: false)
        let rest = words.count > 1 ? String(words[1]) : ""
        switch words[0].uppercased() {
        case "EHLO": return greet(rest, isExtended: true)
        case "HELO": return greet(rest, isExtended: false)
        case "STARTTLS": return secure(rest)
        case "AUTH": return signIn(rest)
        case "MAIL": return nameSender(rest)
        case "RCPT": return nameRecipient(rest)
        case "DATA": return takeMail(rest)
        case "RSET":
            envelope = MailEnvelope()
            return tell(MailReply(250, "2.0.0 Forgotten"))
        case "NOOP": return tell(MailReply(250, "2.0.0 Fine"))
        case "QUIT":
            _ = tell(MailReply(221, "2.0.0 Goodbye"))
            return .end
        default:
            return refuse(MailReply(500, "5.5.2 Unknown command"), at: phase, because: "unknown command")
        }
    }

    /// Where the dialogue stands, for what belongs to no step.
    private var phase: DialoguePhase {
        if !hasGreeted { return .connect }
        if envelope.sender == nil { return .ehlo }
        return envelope.recipients.isEmpty ? .mail : .rcpt
    }

    /// Says what is to be said in this step, unless a fault says otherwise; a refusal is recorded.
    func say(
        _ normal: MailReply,
        at phase: DialoguePhase,
        mail: ReceivedMail? = nil,
        violation: String? = nil
    ) -> Next {
        let fault = office.faults.take(
            .email,
            token: envelope.recipients.last,
            path: "/\(phase.rawValue)",
            phase: phase
        )
        var reply: MailReply? = normal
        var drip: Duration?
        switch fault?.effect {
        case nil, .delay: break
        case .answer(let answer): reply = MailReply(answer)
        case .drip(let interval): drip = interval
        // The reader of faults keeps the other ways to end a request from mails: all of them end a dialogue.
        case .drop, .partial, .reset, .goAway: reply = nil
        }
        if reply?.isRefusal != false || phase == .endOfData {
            office.record(event(phase, mail, violation, reply))
        }
        guard link.pause(fault?.delay ?? .zero), let reply, link.write(reply.bytes, drip: drip) else {
            return .end
        }
        // Who says so, leaves (RFC 5321 §3.8).
        lastCode = reply.code
        return reply.code == 421 || (phase == .connect && reply.isRefusal) ? .end : .goOn
    }

    /// What was said last: a step that a fault has refused has not been taken.
    private(set) var lastCode = 0

    /// Refuses what a client must not do; no fault can take its place.
    func refuse(_ reply: MailReply, at phase: DialoguePhase, because violation: String) -> Next {
        office.record(event(phase, nil, violation, reply))
        return tell(reply)
    }

    func tell(_ reply: MailReply) -> Next {
        lastCode = reply.code
        return link.write(reply.bytes, drip: nil) ? .goOn : .end
    }

    private func event(
        _ phase: DialoguePhase,
        _ mail: ReceivedMail?,
        _ violation: String?,
        _ reply: MailReply?
    ) -> MailEvent {
        MailEvent(
            connection: connection,
            phase: phase,
            envelope: envelope,
            mail: mail,
            violation: violation,
            reply: reply
        )
    }
}
