import Foundation

/// One client's dialogue (RFC 5321).
///
/// It is strict about order, lengths and line ends, applies faults, and records its events.
final class SMTPSession {
    enum Next {
        case goOn
        case end
    }

    let office: MailServerState
    let link: MailConnection
    private let connection: UInt64
    var hasGreeted = false
    var isSignedIn = false
    var envelope = MailEnvelope()

    private static let longestCommand = 512

    init(office: MailServerState, link: MailConnection, connection: UInt64) {
        self.office = office
        self.link = link
        self.connection = connection
    }

    /// Serves the client until either side ends the dialogue.
    func run(isSecureFromTheStart: Bool) {
        if isSecureFromTheStart, !link.secure(office.tls) { return }
        guard case .goOn = say(MailReply(220, "sandbox.bellhop.example ESMTP"), at: .connect) else { return }
        while let line = link.readLine(limit: Self.longestCommand) {
            guard case .goOn = react(to: line) else { break }
        }
        link.sayGoodbye()
    }

    private func react(to line: MailConnection.Line) -> Next {
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

    /// The current phase, for replies that belong to no step.
    private var phase: DialoguePhase {
        if !hasGreeted { return .connect }
        if envelope.sender == nil { return .ehlo }
        return envelope.recipients.isEmpty ? .mail : .rcpt
    }

    /// Sends the normal reply of this step, unless a fault replaces it.
    ///
    /// Rejections and the reply to the content are recorded.
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
        // The reader of faults rejects the other request endings for mails, because all of them end a dialogue.
        case .drop, .partial, .reset, .goAway: reply = nil
        }
        if reply?.isRefusal != false || phase == .endOfData {
            office.record(event(phase, mail, violation, reply))
        }
        guard link.pause(fault?.delay ?? .zero), let reply, link.write(reply.bytes, drip: drip) else {
            return .end
        }
        // A server that sends 421 closes the connection (RFC 5321 §3.8).
        lastCode = reply.code
        return reply.code == 421 || (phase == .connect && reply.isRefusal) ? .end : .goOn
    }

    /// The code of the last reply.
    ///
    /// A step that a fault has rejected has not been taken.
    private(set) var lastCode = 0

    /// Rejects a protocol violation of the client; no fault can replace this reply.
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

/// A reply of a mail server: a code and one or more lines.
struct MailReply: Sendable, Equatable {
    let code: Int
    let lines: [String]

    init(_ code: Int, _ lines: String...) {
        self.code = code
        self.lines = lines
    }

    init(_ code: Int, lines: [String]) {
        self.code = code
        self.lines = lines
    }

    var isRefusal: Bool { code >= 400 }

    /// The reply in the form of RFC 5321 §4.2.
    var bytes: [UInt8] {
        var text = ""
        for (index, line) in lines.enumerated() {
            text += "\(code)\(index == lines.count - 1 ? " " : "-")\(line)\r\n"
        }
        return Array(text.utf8)
    }

    static let badOrder = MailReply(503, "5.5.1 Bad sequence of commands")
    static let badSyntax = MailReply(501, "5.5.4 Syntax error in parameters")

    /// Creates the reply that a fault requests; the fault's reason is the text, such as `5.1.1 No such user`.
    init(_ fault: SandboxFault.Answer) {
        self.init(fault.status, fault.reason ?? "The sandbox was told to send this")
    }
}
