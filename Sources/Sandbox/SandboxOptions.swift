import Cryptography
package import ServiceRuntime

/// The settings of a sandbox.
///
/// The defaults suit a test: free loopback ports and temporary files.
package struct SandboxOptions: Sendable {
    package enum Checking: Sendable, Equatable {
        /// Requests are judged as the real services would judge them, subjected to faults, and recorded.
        case strict
        /// Every request to `listen` is answered with 200 in FCM's form, unread, for benchmarks of senders to FCM.
        ///
        /// APNs and the mail server, which listen on other ports, stay strict.
        case none
    }

    /// The error in the certificate that clients see.
    package enum CertificateFault: Sendable, Equatable {
        /// The certificate is for another host.
        case ofAnotherHost
        /// The certificate expired a day ago.
        case expired
    }

    /// The address of the providers' side, with TLS and HTTP/2.
    package var listen = ListenAddress(host: "127.0.0.1", port: 0)
    /// The address of APNs for production, which is a separate host at Apple, too.
    package var apnsListen = ListenAddress(host: "127.0.0.1", port: 0)
    /// The address of APNs for development builds.
    package var apnsSandboxListen = ListenAddress(host: "127.0.0.1", port: 0)
    /// The address of the control interface, in plain HTTP.
    package var control = ListenAddress(host: "127.0.0.1", port: 0)
    /// The address of the mail server, with STARTTLS.
    package var smtp = ListenAddress(host: "127.0.0.1", port: 0)
    /// The address of the mail server with TLS from the start.
    package var smtps = ListenAddress(host: "127.0.0.1", port: 0)
    /// The credentials for sending mails.
    package var mailCredentials = MailCredentials(user: "bellhop", password: "sandbox-password")
    /// The host by which clients reach the providers' side; `nil` for `listen`'s host, or `localhost` for a wildcard.
    package var publicHost: String?
    /// The project of the only service account.
    package var project = "bellhop-sandbox"
    /// The topics (bundle ids) to which the only team may push at APNs.
    package var apnsTopics: Set<String> = ["com.example.bellhop"]
    package var checking = Checking.strict
    /// The word for which arrival times are stored if requests are not checked; `nil` for none.
    package var notedWord: String?
    /// `nil` for a valid certificate.
    package var certificateFault: CertificateFault?
    package var limits = HTTP2Limits()
    /// Selects the requests to which faults with a rate apply.
    package var seed: UInt64 = 1
    /// The time for which an access token is valid.
    package var tokenLifetime = Duration.seconds(3_600)
    /// The access token that senders to Expo must present; `nil` for a project that requires none.
    package var expoAccessToken: String?
    /// The delay after which a message's Expo receipt is available.
    package var expoReceiptDelay = Duration.zero
    /// The number of latest requests that are kept completely.
    package var keptRequests = 200_000
    /// The file for the authority's certificate; `nil` for a temporary file that is removed with the sandbox.
    package var caFile: String?
    /// The file for the service account, readable only by its owner; `nil` for none.
    package var serviceAccountFile: String?
    /// Whether answers that are given without checking contain an access token.
    package var issuesTokensUnchecked = true
    /// The file for APNs' key, readable only by its owner; `nil` for none.
    package var apnsKeyFile: String?
    /// The file for the subscription of a browser that exists from the start, readable only by its owner; `nil` for no
    /// such browser.
    package var subscriptionFile: String?
    /// The public VAPID key (base64url) whose messages this browser accepts; `nil` for any.
    package var subscriptionKey: String?
    package var time: any TimeSource = SystemTime()

    package init() {}

    /// Whether a text is usable as a project in paths and addresses.
    package static func isProject(_ text: String) -> Bool {
        let isSpelledRight = text.utf8.allSatisfy { byte in
            (0x61...0x7A).contains(byte) || (0x30...0x39).contains(byte) || byte == UInt8(ascii: "-")
        }
        return (1...63).contains(text.utf8.count) && isSpelledRight
    }

    /// Whether a text is usable as an app at APNs, in the form of a bundle id.
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

    /// The host in announced endpoints.
    var announcedHost: String {
        if let publicHost { return publicHost }
        return ["0.0.0.0", "::"].contains(listen.host) ? "localhost" : listen.host
    }

    /// The same host as a name, which browsers' endpoints require.
    var namedHost: String {
        CertificateRequest.Name(announcedHost) == .host(announcedHost) ? announcedHost : "localhost"
    }
}
