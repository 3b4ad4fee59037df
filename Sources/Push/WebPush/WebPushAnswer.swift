import BellhopRules
package import HTTPTransfer

/// Converts the outcome of one message to a push service into a verdict, with one verdict for every row of the table of
/// errors.
///
/// An untrusted client has chosen the endpoint. An answer, or a missing answer, therefore has no meaning for other
/// endpoints: a client that registers a wrong endpoint must not stop the sends to all users.
package enum WebPushAnswer {
    package enum Reading: Hashable, Sendable {
        case verdict(Verdict)
        /// The sign-in was rejected.
        ///
        /// One repeat with a new sign-in is worthwhile; after that, it is a configuration error.
        case staleAuthorization
    }

    /// The minimum wait before a message is repeated.
    package static let shortestWait: Duration = .seconds(10)

    /// The verdict if the credentials or settings do not fit this endpoint.
    static let refused = Verdict.configError(.vapidRefused, scope: .device)

    /// Reads an outcome; `namesKey` is whether the subscription names the key with which it was created.
    package static func read(_ outcome: TransferOutcome, namesKey: Bool) -> Reading {
        switch outcome {
        case .answered(let answer): read(answer, namesKey: namesKey)
        case .notSent(let error): .verdict(notSent(error))
        case .unknown(let error): .verdict(.lostSight(error, shortestWait: shortestWait))
        }
    }

    private static func read(_ answer: TransferAnswer, namesKey: Bool) -> Reading {
        let report = WebPushReport(body: answer.body)
        if (400...499).contains(answer.status) {
            if report.blamesOtherKey { return .verdict(mismatch(namesKey: namesKey)) }
            if report.blamesSignIn { return .staleAuthorization }
        }
        switch answer.status {
        case 200...299: return .verdict(.delivered(providerMessageID: identifier(answer)))
        case 300...399: return .verdict(.payloadError(.redirected))
        case 400: return .verdict(badRequest(report))
        case 401, 403: return .staleAuthorization
        case 404, 410: return .verdict(.deviceGone(.subscriptionGone, at: nil))
        case 405: return .verdict(.configError(.unexpectedStatus, scope: .device))
        case 406, 429: return .verdict(.retry(.tooManyRequests, notBefore: wait(answer), scope: .device))
        case 408, 500...599:
            return .verdict(.retry(trouble(answer.status), notBefore: wait(answer), scope: .message))
        case 413: return .verdict(.payloadError(.payloadTooLarge))
        default: return .verdict(.payloadError(.unexpectedStatus))
        }
    }

    private static func notSent(_ error: TransferError) -> Verdict {
        let reason = VerdictReason(error.code)
        switch error.code {
        case .addressRefused, .invalidRequest: return .payloadError(reason)
        case .certificate, .invalidOptions: return .configError(reason, scope: .device)
        case .cancelled, .closed: return .retry(reason, notBefore: .zero, scope: .message)
        case .nameLookup, .connect, .tls, .timeout, .connectionLost, .incompleteAnswer, .protocolViolation, .library:
            return .retry(reason, notBefore: shortestWait, scope: .device)
        }
    }

    /// Returns the verdict on a key mismatch.
    ///
    /// If the subscription named the key that was used, the file of that key is the wrong one. If it named none, it was
    /// created with an unknown key, and no message can ever reach it.
    private static func mismatch(namesKey: Bool) -> Verdict {
        namesKey ? .configError(.vapidMismatch, scope: .device) : .deviceGone(.vapidMismatch, at: nil)
    }

    private static func badRequest(_ report: WebPushReport) -> Verdict {
        report.reason == "IdleTimeout"
            ? .retry(.connectionLost, notBefore: shortestWait, scope: .message) : .payloadError(.badRequest)
    }

    private static func trouble(_ status: Int) -> VerdictReason {
        switch status {
        case 500: .internalError
        case 502...504: .unavailable
        default: .unexpectedStatus
        }
    }

    private static func wait(_ answer: TransferAnswer) -> Duration {
        let asked = answer.retryAfterSeconds.map(ProviderWait.clamped)
        return max(shortestWait, asked ?? shortestWait)
    }

    /// Returns Apple's message id.
    ///
    /// Other services return the message's address, which is not stored because its holder could withdraw the message.
    private static func identifier(_ answer: TransferAnswer) -> String? {
        guard let id = answer.headers["apns-id"], (1...64).contains(id.utf8.count),
            id.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F })
        else { return nil }
        return id
    }
}

/// The content of an error answer: Apple's `reason`, or the text of other services.
struct WebPushReport {
    let reason: String?
    private let text: String

    private static let parser = JSONParser(limits: .init(bytes: 1 << 16, depth: 16))
    private static let signInReasons: Set<String> = ["BadJwtToken", "BadAuthorizationHeader", "BadVapidPublicKey"]

    init(body: [UInt8]) {
        reason = Self.parser.parse(body).value?["reason"]?.string
        text = String(decoding: body.prefix(4096), as: UTF8.self)
    }

    /// Whether the browser subscribed with a key other than the used one.
    var blamesOtherKey: Bool {
        reason == "VapidPkHashMismatch" || text.contains("do not correspond to the credentials used to create")
    }

    /// Whether the sign-in is rejected, whatever the status.
    var blamesSignIn: Bool {
        reason.map(Self.signInReasons.contains) == true || text.contains("UnauthorizedRegistration")
    }
}
