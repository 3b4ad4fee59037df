/// A mail transport over libcurl: SMTP with TLS, always, on a few connections that are kept from mail to mail.
///
/// Releasing the last reference ends the connections too, without waiting for it.
package final class SMTPTransport: MailTransport {
    private let desk: LaneDesk<MailLane>

    /// Opens the transport; nothing is connected yet.
    package init(_ options: SMTPTransportOptions) throws(TransferError) {
        try options.validate()
        desk = try LaneDesk(options)
    }

    deinit {
        desk.abandon()
    }

    package func send(_ mails: [OutgoingMail]) async -> [MailOutcome] {
        await desk.send(mails)
    }

    package func close() async {
        await desk.close()
    }
}
