package import ServiceRuntime

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

    deinit { connections.abandon() }

    package func send(_ mails: [OutgoingMail]) async -> [MailOutcome] {
        await connections.send(mails)
    }

    package func close() async { await connections.close() }
}

/// The options and the server of an `SMTPTransport`.
package struct SMTPTransportOptions: Hashable, Sendable {
    /// The way in which a connection is encrypted; there is no third one.
    package enum Encryption: Hashable, Sendable {
        /// TLS from the first byte: `smtps://`, usually port 465.
        case fromTheStart
        /// STARTTLS, which the server must offer: `smtp://`, usually port 587.
        case startTLS
    }

    /// The credentials for PLAIN or LOGIN.
    package struct Login: Hashable, Sendable {
        package var user: String
        package var password: Secret

        package init(user: String, password: Secret) {
            self.user = user
            self.password = password
        }
    }

    /// The name of the transport's threads (Linux shows the first 15 bytes).
    package var name: String
    package var server: ListenAddress
    package var encryption: Encryption

    /// `nil` if the server accepts mails from all clients that may connect.
    package var login: Login?

    /// The name in EHLO: the domain of the sender.
    package var ownName: String

    /// A PEM file with the trusted authorities, used instead of the system's.
    package var authoritiesFile: String?

    /// Concurrent connections, each with one mail in flight.
    package var connections = 4

    /// The timeouts for one mail, and for the part that a new connection may take.
    ///
    /// The total is half of the usual lease. A mail starts in the first half of the lease, so it ends before another
    /// worker may claim its delivery.
    package var timeouts = TransferTimeouts(total: .seconds(30), connect: .seconds(10))

    /// The time that `close` gives to active mails before it abandons them.
    package var closeGrace: Duration = .seconds(5)

    package init(name: String, server: ListenAddress, encryption: Encryption, ownName: String) {
        self.name = name
        self.server = server
        self.encryption = encryption
        self.ownName = ownName
    }
}

extension SMTPTransportOptions: BlockingConnectionOptions {
    /// Rejects unusable options, so that a wrong setting is detected at the start and not by the first mail.
    func validate() throws(TransferError) {
        try validateLanes()
        let isName = ownName.utf8.allSatisfy { ASCII.isVisible($0) && !"/?#%@:[]".utf8.contains($0) }
        guard isName, !ownName.isEmpty, ListenAddress(server.description) == server else {
            throw refusal("the server and our own name must be names of hosts")
        }
        let texts = [login?.user, login?.password.revealed]
        guard texts.allSatisfy({ $0?.utf8.allSatisfy(ASCII.isHeaderValue) ?? true }) else {
            throw refusal("user and password must not contain control characters")
        }
    }

    func refusal(_ reason: String) -> TransferError {
        TransferError(.invalidOptions, "cannot open the mail transport \"\(name)\": \(reason)")
    }

    /// The only text about a mail that may appear in an error.
    var attempt: String { "mail through \(server)" }

    /// The server in libcurl's notation, with the EHLO name as the path.
    var url: String {
        let scheme = encryption == .fromTheStart ? "smtps" : "smtp"
        return "\(scheme)://\(server)/\(ownName)"
    }
}
