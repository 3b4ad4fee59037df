import ServiceRuntime

/// What a server's certificate shall say; a wrong one (another host, a time that is over) is ordered like a right one.
struct CertificateOrder: Sendable {
    enum Name: Sendable, Hashable {
        case host(String)
        /// An address in its usual text.
        case address(String)

        /// A host is whatever is no address.
        init(_ text: String) {
            let isAddress = text.contains(":") || text.allSatisfy { $0 == "." || ("0"..."9").contains($0) }
            self = isAddress ? .address(text) : .host(text)
        }

        /// In OpenSSL's notation of alternative names.
        var notation: String {
            switch self {
            case .host(let host): "DNS:\(host)"
            case .address(let address): "IP:\(address)"
            }
        }
    }

    var names: [Name]
    var validity: Range<Instant>

    /// The names by which clients on this machine reach the sandbox, and those of the services it stands in for, so
    /// that a client may be told to resolve the real names to it.
    static let usualNames: [Name] = [
        .host("localhost"), .address("127.0.0.1"), .address("::1"),
        .host("fcm.googleapis.com"), .host("oauth2.googleapis.com"),
        .host("api.push.apple.com"), .host("api.sandbox.push.apple.com"), .host("exp.host"),
        .host("updates.push.services.mozilla.com"), .host("web.push.apple.com"),
    ]
}
