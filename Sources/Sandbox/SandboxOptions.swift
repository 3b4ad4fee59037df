import Cryptography
package import ServiceRuntime

/// What a sandbox is made of; the defaults are those of a test: free ports of the loopback, files of its own.
package struct SandboxOptions: Sendable {
    package enum Checking: Sendable, Equatable {
        /// Requests are judged as the real services would, befallen by faults, and recorded.
        case strict
        /// Every request to `listen` is answered with 200 in FCM's form, unread: for benchmarks of senders to FCM. APNs
        /// and the mail server, which listen elsewhere, stay strict.
        case none
    }

    /// What is wrong with the certificate that clients are shown.
    package enum CertificateFault: Sendable, Equatable {
        /// It is another host's.
        case ofAnotherHost
        /// It expired a day ago.
        case expired
    }

    /// Where the providers' side listens, with TLS and HTTP/2.
    package var listen = ListenAddress(host: "127.0.0.1", port: 0)
    /// Where APNs listens for production, which is a host of its own at Apple, too.
    package var apnsListen = ListenAddress(host: "127.0.0.1", port: 0)
    /// Where APNs listens for development builds.
    package var apnsSandboxListen = ListenAddress(host: "127.0.0.1", port: 0)
    /// Where the control interface listens, in plain HTTP.
    package var control = ListenAddress(host: "127.0.0.1", port: 0)
    /// Where the mail server listens, with STARTTLS.
    package var smtp = ListenAddress(host: "127.0.0.1", port: 0)
    /// Where the mail server listens with TLS from the start.
    package var smtps = ListenAddress(host: "127.0.0.1", port: 0)
    /// Who may send mails.
    package var mailCredentials = MailCredentials(user: "bellhop", password: "sandbox-password")
    /// The host by which clients reach the providers' side; `listen`'s own where nil, or `localhost` for a wildcard.
    package var publicHost: String?
    /// The project of the one service account.
    package var project = "bellhop-sandbox"
    /// The topics (bundle ids) that APNs lets the one team push to.
    package var apnsTopics: Set<String> = ["com.example.bellhop"]
    package var checking = Checking.strict
    /// Without checks: of requests whose bodies hold this word it is remembered when they came; nil for none.
    package var notedWord: String?
    /// Nil for a certificate that is right.
    package var certificateFault: CertificateFault?
    package var limits = HTTP2Limits()
    /// Decides whom faults with a rate befall.
    package var seed: UInt64 = 1
    /// How long an access token is good.
    package var tokenLifetime = Duration.seconds(3_600)
    /// What senders to Expo must show; nil for a project that asks for no access token.
    package var expoAccessToken: String?
    /// How long after its message a receipt of Expo's is there.
    package var expoReceiptDelay = Duration.zero
    /// How many of the latest requests are kept in full.
    package var keptRequests = 200_000
    /// Where the authority's certificate goes; a temporary file that goes away with the sandbox where nil.
    package var caFile: String?
    /// Where the service account goes, readable by its owner alone; nowhere where nil.
    package var serviceAccountFile: String?
    /// Where APNs' key goes, readable by its owner alone; nowhere where nil.
    package var apnsKeyFile: String?
    /// Where the subscription of a browser goes that is there from the start, readable by its owner alone; there is no
    /// such browser where nil.
    package var subscriptionFile: String?
    /// The public half of the VAPID key that this browser takes messages of (base64url); of any where nil.
    package var subscriptionKey: String?
    package var time: any TimeSource = SystemTime()

    package init() {}

    /// Whether a text can stand for a project in paths and addresses.
    package static func isProject(_ text: String) -> Bool {
        let isSpelledRight = text.utf8.allSatisfy { byte in
            (0x61...0x7A).contains(byte) || (0x30...0x39).contains(byte) || byte == UInt8(ascii: "-")
        }
        return (1...63).contains(text.utf8.count) && isSpelledRight
    }

    /// Whether a text can stand for an app at APNs, as its bundle id does.
    package static func isTopic(_ text: String) -> Bool {
        let isSpelledRight = text.utf8.allSatisfy { byte in
            (0x61...0x7A).contains(byte) || (0x41...0x5A).contains(byte) || (0x30...0x39).contains(byte)
                || byte == UInt8(ascii: "-") || byte == UInt8(ascii: ".")
        }
        return (1...255).contains(text.utf8.count) && isSpelledRight
    }

    /// Whether a text is a point of P-256 in base64url, as `bellhop keys vapid` prints a public key.
    package static func isSubscriptionKey(_ text: String) -> Bool {
        guard let point = Base64URL.decode(text) else { return false }
        return point.count == 65 && point[0] == 4
    }

    /// The host that endpoints are told with.
    var announcedHost: String {
        if let publicHost { return publicHost }
        return ["0.0.0.0", "::"].contains(listen.host) ? "localhost" : listen.host
    }

    /// The same as a name, which endpoints of browsers must have.
    var namedHost: String {
        CertificateOrder.Name(announcedHost) == .host(announcedHost) ? announcedHost : "localhost"
    }
}
