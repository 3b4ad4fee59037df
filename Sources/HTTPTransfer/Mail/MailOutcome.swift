/// How one mail ended.
package enum MailOutcome: LaneOutcome, Hashable, Sendable {
    /// The server took the mail over, and answers for it from here on.
    case accepted(SMTPReply)

    /// The server said no, and does not have the mail.
    case refused(SMTPReply, at: MailPhase)

    /// The server lacks what we insist on; nothing went out.
    case unsuitable(ServerLack)

    /// The server certainly did not take the mail over: it is safe to try again.
    case notSent(TransferError)

    /// The end of the mail may have reached the server and no reply came: it may have been taken over or not.
    case unknown(TransferError)
}

/// What a mail server does not offer.
package enum ServerLack: Hashable, Sendable {
    /// Neither TLS from the start nor STARTTLS.
    case encryption
    /// No way of signing in that we use (PLAIN or LOGIN), or none that it accepts.
    case authentication
}

/// How far a dialogue with a mail server has come: what the server's latest reply answers.
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
    /// We asked to hand over the content.
    case data
    /// The content was handed over.
    case endOfData = "end-of-data"
}
