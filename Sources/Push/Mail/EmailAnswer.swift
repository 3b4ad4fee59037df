package import HTTPTransfer

/// Reads what became of one mail: one verdict for every row of SMTP's table of replies.
///
/// The server meant is our own relay: what it says of the sender, of signing in or of relaying is about our settings,
/// and what it says of the recipient or the content is about this one mail.
package enum EmailAnswer {
    /// No server wants a mail repeated sooner.
    package static let shortestWait: Duration = .seconds(60)

    /// Greylisting, which wants to see the mail again and not at once.
    package static let greylistWait: Duration = .seconds(300)

    /// A full mailbox does not empty itself in minutes.
    package static let fullMailboxWait: Duration = .seconds(3600)

    /// `messageID` is what an accepted mail is known by.
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

    /// What the reply alone decides, wherever it comes; but a policy that refuses us before there is a recipient is about
    /// us, whatever it names.
    private static func judged(_ reply: SMTPReply, at phase: MailPhase) -> Verdict? {
        switch (reply.code, reply.status?.subject, reply.status?.detail) {
        case (_, 2, 2): .retry(.mailboxFull, notBefore: fullMailboxWait, scope: .message)
        case (_, 3, 4), (_, 2, 3), (552, _, _): .payloadError(.payloadTooLarge)
        case (502, _, _), (503, _, _): .configError(.protocolViolation, scope: .provider)
        case (530, _, _), (534, _, _), (535, _, _), (538, _, _):
            .configError(.authenticationRefused, scope: .provider)
        case (_, 7, let detail?) where [.rcpt, .data, .endOfData].contains(phase): policy(reply, detail)
        // Said of an address or a text, however it is put.
        case (500, _, _), (504, _, _):
            [.rcpt, .endOfData].contains(phase) ? nil : .configError(.protocolViolation, scope: .provider)
        default: nil
        }
    }

    /// Mostly it is this mail that the server dislikes; what blames the sender as such concerns all of them.
    private static func policy(_ reply: SMTPReply, _ detail: Int) -> Verdict {
        // Who signs in, and the proofs of the sender's domain (DKIM, SPF, DMARC, reverse names).
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

    /// A refusal without a better word is that there is no such mailbox; a relay that knows better says so.
    private static func refusedRecipient(_ reply: SMTPReply) -> Verdict {
        // Many a server says only here what it thinks of our greeting or of the address that we send from.
        guard !speaks(reply, of: ["helo", "sender address"]) else {
            return .configError(.senderRefused, scope: .provider)
        }
        return switch reply.code {
        case 500, 501, 504, 550, 551, 553, 555, 556: .payloadError(.mailboxUnknown)
        default: reply.status?.subject == 1 ? .payloadError(.mailboxUnknown) : .payloadError(.refusedByPolicy)
        }
    }

    /// Whether its words have one of these among them, addresses left out: somebody has chosen those.
    private static func speaks(_ reply: SMTPReply, of terms: [String]) -> Bool {
        let words = reply.words.lowercased().split(separator: " ").filter { !$0.contains("@") }.joined(separator: " ")
        return terms.contains { words.contains($0) }
    }
}
