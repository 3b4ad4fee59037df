package import ServiceRuntime

/// How a `SMTPTransport` behaves, and where it leads.
package struct SMTPTransportOptions: Hashable, Sendable {
    /// How a connection becomes encrypted; there is no third way.
    package enum Encryption: Hashable, Sendable {
        /// From its first byte: `smtps://`, usually port 465.
        case fromTheStart
        /// By STARTTLS, which the server must offer: `smtp://`, usually port 587.
        case startTLS
    }

    /// Who signs in, by PLAIN or LOGIN.
    package struct Login: Hashable, Sendable {
        package var user: String
        package var password: Secret

        package init(user: String, password: Secret) {
            self.user = user
            self.password = password
        }
    }

    /// Names the transport's threads (Linux shows the first 15 bytes).
    package var name: String
    package var server: ListenAddress
    package var encryption: Encryption

    /// Nil where the server takes mails of whoever may connect.
    package var login: Login?

    /// What we call ourselves in EHLO: the domain that we send for.
    package var ownName: String

    /// PEM file with the authorities to trust instead of the system's.
    package var authoritiesFile: String?

    /// Connections at the same time, each with one mail under way.
    package var connections = 4

    /// For one mail, and the part of it that a new connection may take.
    ///
    /// Half of the usual lease, in whose first half a mail begins: it ends before another may take its delivery over.
    package var timeouts = TransferTimeouts(total: .seconds(30), connect: .seconds(10))

    /// How long `close` lets mails under way end before it abandons them.
    package var closeGrace: Duration = .seconds(5)

    package init(name: String, server: ListenAddress, encryption: Encryption, ownName: String) {
        self.name = name
        self.server = server
        self.encryption = encryption
        self.ownName = ownName
    }
}

extension SMTPTransportOptions: LaneOptions {
    /// Refuses what cannot work, so that a wrong setting is found at the start and not by the first mail.
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

    /// All that an error text may tell of a mail.
    var attempt: String { "mail through \(server)" }

    /// In libcurl's notation: the path is what we call ourselves.
    var url: String {
        let scheme = encryption == .fromTheStart ? "smtps" : "smtp"
        return "\(scheme)://\(server)/\(ownName)"
    }
}
