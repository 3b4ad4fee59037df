import ServiceRuntime

/// The contents of a server's certificate.
///
/// A wrong certificate (for another host, or expired) is ordered in the same way as a correct one.
struct CertificateRequest: Sendable {
    enum Name: Sendable, Hashable {
        case host(String)
        /// An address in its usual text form.
        case address(String)

        /// Treats every text that is not an address as a host.
        init(_ text: String) {
            let isAddress = text.contains(":") || text.allSatisfy { $0 == "." || ("0"..."9").contains($0) }
            self = isAddress ? .address(text) : .host(text)
        }

        /// The name in OpenSSL's notation of alternative names.
        var notation: String {
            switch self {
            case .host(let host): "DNS:\(host)"
            case .address(let address): "IP:\(address)"
            }
        }
    }

    var names: [Name]
    var validity: Range<Instant>

    /// The names by which clients on this machine reach the sandbox, and those of the emulated services.
    ///
    /// With the latter, a client may be configured to resolve the real names to the sandbox.
    static let usualNames: [Name] = [
        .host("localhost"), .address("127.0.0.1"), .address("::1"),
        .host("fcm.googleapis.com"), .host("oauth2.googleapis.com"),
        .host("api.push.apple.com"), .host("api.sandbox.push.apple.com"), .host("exp.host"),
        .host("updates.push.services.mozilla.com"), .host("web.push.apple.com"),
    ]
}
