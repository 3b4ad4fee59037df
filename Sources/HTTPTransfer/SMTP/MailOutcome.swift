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
