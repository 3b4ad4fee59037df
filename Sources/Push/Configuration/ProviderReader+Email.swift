import BellhopRules
import HTTPTransfer
import ServiceRuntime

extension ProviderReader {
    private static let emailKeys = [
        "server", "user", "passwordFile", "from", "linkBase", "unsubscribe", "caFile", "connections", "window",
    ]

    func email(_ scope: ProviderScope) -> ProviderConfiguration.Email? {
        scope.expectKeys(Self.emailKeys)
        for key in ["server", "from", "linkBase", "unsubscribe"] where scope.object[key] == nil {
            scope.report(key, "missing: mails need it")
        }
        let server = mailServer(scope)
        let login = mailLogin(scope)
        let from = scope.value("from", "an address in ASCII such as Name <local@domain>") { value in
            value.string.flatMap(Mailbox.init)
        }
        let linkBase = scope.address("linkBase")
        let unsubscribe = scope.scope("unsubscribe").flatMap(unsubscribeLink)
        let authorities = authoritiesFile(scope)
        let connections = scope.count("connections", 1...64)
        let window = scope.count("window", 1...10_000)
        guard let server, let from, let linkBase, let unsubscribe else { return nil }
        var transport = SMTPTransportOptions(
            name: "smtp",
            server: server.address,
            encryption: server.encryption,
            ownName: from.domain
        )
        transport.login = login
        transport.authoritiesFile = authorities
        transport.connections = connections ?? transport.connections
        return ProviderConfiguration.Email(
            letterhead: Letterhead(from: from, linkBase: linkBase, unsubscribe: unsubscribe),
            transport: transport,
            window: window ?? transport.connections
        )
    }

    private typealias MailServer = (address: ListenAddress, encryption: SMTPTransportOptions.Encryption)

    /// There is no way to say that mails shall go unencrypted.
    private func mailServer(_ scope: ProviderScope) -> MailServer? {
        scope.value("server", "smtps://HOST:465 (TLS from the start) or smtp://HOST:587 (STARTTLS)") { value in
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

    private func mailLogin(_ scope: ProviderScope) -> SMTPTransportOptions.Login? {
        let user = scope.value("user", "the name to sign in with") { value in
            value.string.flatMap { $0.isEmpty || $0.utf8.contains { $0 < 0x20 || $0 == 0x7F } ? nil : $0 }
        }
        let hasFile = scope.object["passwordFile"] != nil
        guard hasFile == (scope.object["user"] != nil) else {
            scope.report(hasFile ? "user" : "passwordFile", "missing: user and passwordFile belong together")
            return nil
        }
        guard let path = scope.path("passwordFile").map(resolved) else { return nil }
        switch secret(path) {
        case .failure(let problem):
            scope.report("passwordFile", "\(path) \(problem.text): expected the password on one line")
            return nil
        case .success(let bytes):
            let password = String(decoding: bytes, as: UTF8.self).trimmed
            guard !password.isEmpty, password.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
                scope.report("passwordFile", "\(path) does not hold a password on one line")
                return nil
            }
            return user.map { SMTPTransportOptions.Login(user: $0, password: Secret(password)) }
        }
    }

    private func unsubscribeLink(_ scope: ProviderScope) -> UnsubscribeLink? {
        scope.expectKeys(["url", "keyFile"])
        for key in ["url", "keyFile"] where scope.object[key] == nil {
            scope.report(key, "missing: links to unsubscribe need it")
        }
        let url = scope.address("url")
        if let url, url.utf8.count > UnsubscribeLink.longestBase {
            scope.report(
                "url",
                "expected at most \(UnsubscribeLink.longestBase) bytes, since it becomes a header's line"
            )
            return nil
        }
        guard let path = scope.path("keyFile").map(resolved) else { return nil }
        switch secret(path) {
        case .failure(let problem):
            scope.report("keyFile", "\(path) \(problem.text): make one with openssl rand -hex 32")
            return nil
        case .success(let bytes):
            guard let keys = UnsubscribeKeys(file: bytes) else {
                let advice = "expected one key per line, \(UnsubscribeKeys.shortest) bytes each at least"
                scope.report("keyFile", "\(path) holds no usable key: \(advice)")
                return nil
            }
            return url.map { UnsubscribeLink(base: $0, keys: keys) }
        }
    }
}
