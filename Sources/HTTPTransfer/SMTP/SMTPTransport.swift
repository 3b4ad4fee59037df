/// A libcurl mail transport that always uses SMTP with TLS, on a few connections that are reused between mails.
///
/// Releasing the last reference also ends the connections, without waiting for that.
package final class SMTPTransport: MailTransport {
    private let connections: BlockingConnectionPool<SMTPConnection>

    /// Creates the transport; nothing is connected yet.
    package init(_ options: SMTPTransportOptions) throws(TransferError) {
        try options.validate()
        connections = try BlockingConnectionPool(options)
    }

    deinit {
        connections.abandon()
    }

    package func send(_ mails: [OutgoingMail]) async -> [MailOutcome] {
        await connections.send(mails)
    }

    package func close() async {
        await connections.close()
    }
}
