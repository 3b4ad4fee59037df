/// Sends batches of mails to a mail server, independently of the library underneath.
package protocol MailTransport: Sendable {
    /// Sends all of `mails` and returns one outcome for each, in the same order, when the last of them has ended.
    ///
    /// It never throws: a mail that cannot be sent has an outcome like any other. If the calling task is cancelled,
    /// mails without an outcome get one immediately: active ones are unknown, the others were not sent.
    func send(_ mails: [OutgoingMail]) async -> [MailOutcome]

    /// Accepts no more mails, gives active ones a bounded time to end, and returns when everything is released.
    ///
    /// Mails that still wait for their turn are reported as not sent, and mails that do not end in time as unknown.
    func close() async
}

/// One mail to one mailbox, complete in memory.
///
/// Each mail has one recipient, because a server could reject a mail with several as a whole for the sake of one of
/// them.
package struct OutgoingMail: Sendable {
    /// The address for rejections after the transfer; visible ASCII without angle brackets, like the recipient.
    package var sender: String
    package var recipient: String

    /// Head and body with CR LF after every line, and at most 998 bytes per line; lines may begin with a dot.
    package var content: [UInt8]

    package init(from sender: String, to recipient: String, content: [UInt8]) {
        self.sender = sender
        self.recipient = recipient
        self.content = content
    }

    /// The reason why the mail must not be sent, as the end of a sentence; `nil` if it may be sent.
    ///
    /// Two servers may disagree about the end of a mail at a bare CR or LF, which would be a way to smuggle in a second
    /// one.
    var fault: String? {
        guard Self.isAddress(sender), Self.isAddress(recipient) else {
            return "sender and recipient must be visible ASCII without angle brackets"
        }
        var before: UInt8 = 0
        for byte in content {
            guard (byte == Self.lineFeed) == (before == Self.carriageReturn) else {
                return "its lines must end with CR LF, and neither may stand alone"
            }
            before = byte
        }
        return before == Self.lineFeed ? nil : "its last line must end with CR LF"
    }

    private static let carriageReturn: UInt8 = 0x0D
    private static let lineFeed: UInt8 = 0x0A

    private static func isAddress(_ text: String) -> Bool {
        !text.isEmpty
            && text.utf8.allSatisfy { ASCII.isVisible($0) && $0 != UInt8(ascii: "<") && $0 != UInt8(ascii: ">") }
    }
}

/// The outcome of one mail.
package enum MailOutcome: BlockingOutcome, Hashable, Sendable {
    /// The server accepted the mail and is responsible for it from now on.
    case accepted(SMTPReply)

    /// The server rejected the mail and does not have it.
    case refused(SMTPReply, at: MailPhase)

    /// The server lacks a required feature; nothing was sent.
    case unsuitable(MissingCapability)

    /// The server certainly did not accept the mail, so a retry is safe.
    case notSent(TransferError)

    /// The end of the mail may have reached the server, and no reply arrived: the mail may have been accepted or not.
    case unknown(TransferError)
}

/// A required feature that a mail server does not offer.
package enum MissingCapability: Hashable, Sendable {
    /// Neither TLS from the start nor STARTTLS.
    case encryption
    /// No supported authentication method (PLAIN or LOGIN), or none that the server accepts.
    case authentication
}

/// The phase of a dialogue with a mail server, to which the server's latest reply belongs.
package enum MailPhase: String, CaseIterable, Hashable, Sendable {
    /// The connection itself, which the server greets.
    case connect
    case ehlo
    case starttls
    case auth
    /// The sender was named.
    case mail
    /// The recipient was named.
    case rcpt
    /// The transfer of the content was requested.
    case data
    /// The content was transferred.
    case endOfData = "end-of-data"
}
