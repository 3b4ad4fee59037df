import BellhopRules
package import HTTPTransfer
import ServiceRuntime

extension ProviderConfiguration {
    /// One app's configuration for mails.
    package struct Email: Sendable {
        package let letterhead: EmailBranding

        /// The relay's address, the login and the maximum number of connections.
        package let transport: SMTPTransportOptions

        /// The maximum number of mails that are sent at the same time; each connection carries one.
        ///
        /// Default: one for each connection.
        package let window: Int
    }
}

extension ProviderReader {
    func email(_ scope: JSONScope) -> ProviderConfiguration.Email? {
        scope.expectKeys([
            "server", "user", "passwordFile", "from", "linkBase", "unsubscribe", "caFile", "connections", "window",
        ])
        let server = mailServer(scope)
        let login = mailLogin(scope)
        let from = scope.value("from", "an address in ASCII such as Name <local@domain>", required: true) { value in
            value.string.flatMap(Mailbox.init)
        }
        let linkBase = scope.address("linkBase", required: true)
        let unsubscribe = scope.scope("unsubscribe", required: true).flatMap(unsubscribeLink)
        let reach = reach(scope, connections: 4)
        guard let server, let from, let linkBase, let unsubscribe else { return nil }
        var transport = SMTPTransportOptions(
            name: "smtp",
            server: server.address,
            encryption: server.encryption,
            ownName: from.domain
        )
        transport.login = login
        transport.authoritiesFile = reach.authoritiesFile
        transport.connections = reach.connections
        return ProviderConfiguration.Email(
            letterhead: EmailBranding(from: from, linkBase: linkBase, unsubscribe: unsubscribe),
            transport: transport,
            window: reach.window
        )
    }

    private typealias MailServer = (address: ListenAddress, encryption: SMTPTransportOptions.Encryption)

    /// Reads the relay's address.
    ///
    /// Unencrypted connections cannot be configured.
    private func mailServer(_ scope: JSONScope) -> MailServer? {
        let expected = "smtps://HOST:465 (TLS from the start) or smtp://HOST:587 (STARTTLS)"
        return scope.value("server", expected, required: true) { value in
            guard let text = value.string else { return nil }
            let parts = text.split(separator: "://", maxSplits: 1)
            guard parts.count == 2, let address = ListenAddress(String(parts[1])), address.port > 0 else { return nil }
            switch parts[0] {
            case "smtps": return (address, .fromTheStart)
            case "smtp": return (address, .startTLS)
            default: return nil
            }
        }
    }

    private func mailLogin(_ scope: JSONScope) -> SMTPTransportOptions.Login? {
        let user = scope.text("user", "the name to sign in with") { text in
            !text.isEmpty && !text.utf8.contains { $0 < 0x20 || $0 == 0x7F }
        }
        let hasFile = scope.object["passwordFile"] != nil
        guard hasFile == (scope.object["user"] != nil) else {
            scope.report(hasFile ? "user" : "passwordFile", "missing: user and passwordFile belong together")
            return nil
        }
        let key = "passwordFile"
        let rule = "expected the password on one line"
        let password = secret(key, scope, of: "it", required: false, advice: rule) { (bytes) throws(SecretFault) in
            let password = String(decoding: bytes, as: UTF8.self).trimmed
            guard !password.isEmpty, password.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
                throw SecretFault(sentences: [" does not hold a password on one line"])
            }
            return Secret(password)
        }
        guard let user, let password else { return nil }
        return SMTPTransportOptions.Login(user: user, password: password)
    }

    func unsubscribeLink(_ scope: JSONScope) -> UnsubscribeLink? {
        scope.expectKeys(["url", "keyFile"])
        let longest = UnsubscribeLink.longestBase
        let url = scope.address("url", required: true)
        if let url, url.utf8.count > longest {
            scope.report("url", "expected at most \(longest) bytes, since it becomes a header's line")
            return nil
        }
        let make = "make one with openssl rand -hex 32"
        let keys = secret("keyFile", scope, of: "the keys", advice: make) { (bytes) throws(SecretFault) in
            if let keys = UnsubscribeKeys(file: bytes) { return keys }
            let advice = "expected one key per line, \(UnsubscribeKeys.shortest) bytes each at least"
            throw SecretFault(sentences: [" holds no usable key: \(advice)"])
        }
        guard let url, let keys else { return nil }
        return UnsubscribeLink(base: url, keys: keys)
    }
}

extension SenderAssembly {
    mutating func sender(_ email: ProviderConfiguration.Email, for app: AppID) throws(TransferError) -> EmailSender {
        let transport = try makeMailTransport(email.transport)
        mailTransports.append(transport)
        return EmailSender(
            letterhead: email.letterhead,
            transport: transport,
            time: context.time,
            metrics: context.metrics?.forEmail(app: app),
            window: email.window
        )
    }
}
