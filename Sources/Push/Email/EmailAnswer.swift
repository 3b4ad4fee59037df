package import HTTPTransfer

/// Converts the outcome of one mail into a verdict, with one verdict for every row of SMTP's table of replies.
///
/// The server is the installation's own relay. Its replies about the sender, the login or relaying concern the
/// settings. Its replies about the recipient or the content concern this one mail.
package enum EmailAnswer {
    /// The minimum wait before a mail is repeated, for every server.
    package static let shortestWait: Duration = .seconds(60)

    /// The wait after greylisting, in which the server accepts the mail only at a later attempt.
    package static let greylistWait: Duration = .seconds(300)

    /// The wait after a full mailbox, which is not emptied within minutes.
    package static let fullMailboxWait: Duration = .seconds(3600)

    /// Reads an outcome; `messageID` identifies an accepted mail.
    package static func read(_ outcome: MailOutcome, messageID: String? = nil) -> Verdict {
        switch outcome {
        case .accepted: .delivered(providerMessageID: messageID)
        case .refused(let reply, let phase): read(reply, at: phase)
        case .unsuitable(.encryption): .configError(.encryptionMissing, scope: .provider)
        case .unsuitable(.authentication): .configError(.authenticationRefused, scope: .provider)
        case .notSent(let error): .notSent(error, shortestWait: shortestWait)
        case .unknown(let error): .lostSight(error, shortestWait: shortestWait)
        }
    }

    private static func read(_ reply: SMTPReply, at phase: MailPhase) -> Verdict {
        if (400..<500).contains(reply.code) { return later(reply, phase) }
        if let verdict = judged(reply, at: phase) { return verdict }
        switch phase {
        case .connect, .ehlo, .starttls: return .configError(.serviceRefused, scope: .provider)
        case .auth: return .configError(.authenticationRefused, scope: .provider)
        case .mail: return .configError(.senderRefused, scope: .provider)
        case .rcpt: return refusedRecipient(reply)
        case .data, .endOfData: return .payloadError(.messageRefused)
        }
    }

    /// Returns the verdict if the reply alone decides it, in any phase.
    ///
    /// A policy that rejects the client before the recipient is named concerns the settings, whatever the reply names.
    private static func judged(_ reply: SMTPReply, at phase: MailPhase) -> Verdict? {
        switch (reply.code, reply.status?.subject, reply.status?.detail) {
        case (_, 2, 2): .retry(.mailboxFull, notBefore: fullMailboxWait, scope: .message)
        case (_, 3, 4), (_, 2, 3), (552, _, _): .payloadError(.payloadTooLarge)
        case (502, _, _), (503, _, _): .configError(.protocolViolation, scope: .provider)
        case (530, _, _), (534, _, _), (535, _, _), (538, _, _):
            .configError(.authenticationRefused, scope: .provider)
        case (_, 7, let detail?) where [.rcpt, .data, .endOfData].contains(phase): policy(reply, detail)
        // In these phases, the reply concerns an address or a text, whatever its code.
        case (500, _, _), (504, _, _):
            [.rcpt, .endOfData].contains(phase) ? nil : .configError(.protocolViolation, scope: .provider)
        default: nil
        }
    }

    /// Returns the verdict on a policy reply.
    ///
    /// It usually concerns this mail; a reply about the sender concerns all mails.
    private static func policy(_ reply: SMTPReply, _ detail: Int) -> Verdict {
        // The details for the login and for the proofs of the sender's domain (DKIM, SPF, DMARC, reverse names).
        let isOurs = [3, 8, 9, 11, 14].contains(detail) || (20...30).contains(detail)
        let blamesUs = speaks(reply, of: ["dkim", "spf", "dmarc", "relay", "authenticat"])
        return isOurs || blamesUs
            ? .configError(.refusedByPolicy, scope: .provider) : .payloadError(.refusedByPolicy)
    }

    private static func later(_ reply: SMTPReply, _ phase: MailPhase) -> Verdict {
        let status = (reply.status?.subject, reply.status?.detail)
        switch (reply.code, phase) {
        case (421, _): return .retry(.serverClosing, notBefore: shortestWait, scope: .provider)
        case (_, .connect), (_, .ehlo), (_, .starttls), (_, .auth), (454, _):
            return .retry(.temporarilyRefused, notBefore: shortestWait, scope: .provider)
        case (450, _), (451, _):
            return .retry(.temporarilyRefused, notBefore: greylistWait, scope: .message)
        default:
            guard status != (2, 2) else {
                return .retry(.mailboxFull, notBefore: fullMailboxWait, scope: .message)
            }
            return .retry(.temporarilyRefused, notBefore: shortestWait, scope: .message)
        }
    }

    /// Returns the verdict on a rejected recipient.
    ///
    /// The usual codes mean that there is no such mailbox; a relay with more information adds a status, which takes
    /// precedence. Other codes have this meaning only with a status about the address.
    private static func refusedRecipient(_ reply: SMTPReply) -> Verdict {
        // Many servers report only at this point that they reject the client's greeting or the sender's address.
        guard !speaks(reply, of: ["helo", "sender address"]) else {
            return .configError(.senderRefused, scope: .provider)
        }
        return switch reply.code {
        case 500, 501, 504, 550, 551, 553, 555, 556: .payloadError(.mailboxUnknown)
        default: reply.status?.subject == 1 ? .payloadError(.mailboxUnknown) : .payloadError(.refusedByPolicy)
        }
    }

    /// Returns whether the reply's text contains one of these terms.
    ///
    /// Addresses are ignored, because users have chosen them.
    private static func speaks(_ reply: SMTPReply, of terms: [String]) -> Bool {
        let words = reply.words.lowercased().split(separator: " ").filter { !$0.contains("@") }.joined(separator: " ")
        return terms.contains { words.contains($0) }
    }
}
