import BellhopRules
package import HTTPTransfer

/// Converts the outcome of one request to APNs into a verdict, with one verdict for every row of APNs' table of errors.
///
/// An error answer without one of Apple's reasons comes from another system, and causes no device to be revoked.
package enum APNsAnswer {
    package enum Reading: Hashable, Sendable {
        case verdict(Verdict)
        /// The provider token is too old.
        ///
        /// A new token and one repeat are worthwhile if Bellhop's token is old enough.
        case expiredToken
        /// The connection belongs to another key.
        ///
        /// A new connection and one repeat are worthwhile.
        case unrelatedKey
        /// The verdict applies, and the connection can no longer be used.
        case staleConnection(Verdict)
        /// Provider tokens change too often; all sends with this key must pause.
        case tooManyTokens
    }

    /// The wait after a request that did not reach APNs, for which APNs defines none.
    ///
    /// Frequent connections look like an attack to APNs.
    package static let shortestWait: Duration = .seconds(10)

    /// The wait that Apple requires after any 5xx.
    package static let troubleWait: Duration = .seconds(15 * 60)

    /// The wait after too many requests for one device.
    package static let deviceWait: Duration = .seconds(30)

    package static func read(_ outcome: TransferOutcome) -> Reading {
        switch outcome {
        case .answered(let answer):
            read(
                status: answer.status,
                id: answer.headers["apns-id"],
                retryAfterSeconds: answer.retryAfterSeconds,
                body: answer.body
            )
        case .notSent(let error): .verdict(.notSent(error, shortestWait: shortestWait))
        case .unknown(let error): .verdict(.lostSight(error, shortestWait: shortestWait))
        }
    }

    package static func read(status: Int, id: String?, retryAfterSeconds: Int?, body: [UInt8]) -> Reading {
        let report = APNsReport(body: body)
        switch status {
        case 200..<300: return .verdict(taken(id, body))
        case 400: return badRequest(report)
        case 403: return forbidden(report)
        case 404 where report.reason == "BadPath": return .verdict(.payloadError(.badPath))
        case 405: return .verdict(.configError(.methodNotAllowed, scope: .provider))
        case 410: return .verdict(gone(report))
        case 413: return .verdict(.payloadError(.payloadTooLarge))
        case 429: return tooMany(report, retryAfterSeconds)
        case 500...599: return trouble(status, report, retryAfterSeconds)
        default: return .verdict(foreign(report))
        }
    }

    /// Returns the verdict on a 2xx.
    ///
    /// It means that the push was accepted, except if the body is a page, which APNs never sends.
    private static func taken(_ id: String?, _ body: [UInt8]) -> Verdict {
        guard !HTMLErrorPage.isOne(body) else { return .configError(.unexpectedAnswer, scope: .provider) }
        let isPlain = id.map { (1...64).contains($0.utf8.count) && $0.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F } }
        return .delivered(providerMessageID: isPlain == true ? id : nil)
    }

    private static func badRequest(_ report: APNsReport) -> Reading {
        switch report.reason {
        case "BadDeviceToken": return .verdict(.deviceGone(.badDeviceToken, at: nil))
        case "DeviceTokenNotForTopic": return .verdict(.deviceGone(.deviceTokenNotForTopic, at: nil))
        case "IdleTimeout":
            return .staleConnection(.retry(.idleTimeout, notBefore: shortestWait, scope: .message))
        default:
            if let reason = report.known(of: settings) { return .verdict(.configError(reason, scope: .provider)) }
            if let reason = report.known(of: messages) { return .verdict(.payloadError(reason)) }
            return .verdict(foreign(report))
        }
    }

    private static func forbidden(_ report: APNsReport) -> Reading {
        switch report.reason {
        case "ExpiredProviderToken": return .expiredToken
        case "UnrelatedKeyIdInToken": return .unrelatedKey
        default:
            guard let reason = report.known(of: credentials) else { return .verdict(foreign(report)) }
            return .verdict(.configError(reason, scope: .provider))
        }
    }

    private static func gone(_ report: APNsReport) -> Verdict {
        switch report.reason {
        case "Unregistered": .deviceGone(.unregistered, at: report.timestamp)
        case "ExpiredToken": .deviceGone(.expiredToken, at: report.timestamp)
        default: foreign(report)
        }
    }

    private static func tooMany(_ report: APNsReport, _ retryAfterSeconds: Int?) -> Reading {
        switch report.reason {
        case "TooManyProviderTokenUpdates": return .tooManyTokens
        case "TooManyRequests":
            let wait = ProviderWait.asked(retryAfterSeconds, atLeast: deviceWait)
            return .verdict(.retry(.deviceRate, notBefore: wait, scope: .device))
        default:
            let wait = ProviderWait.asked(retryAfterSeconds, atLeast: deviceWait)
            return .verdict(.retry(.quotaExceeded, notBefore: wait, scope: .provider))
        }
    }

    private static func trouble(_ status: Int, _ report: APNsReport, _ retryAfterSeconds: Int?) -> Reading {
        let wait = ProviderWait.asked(retryAfterSeconds, atLeast: troubleWait)
        let verdict = { (reason: VerdictReason) in Verdict.retry(reason, notBefore: wait, scope: .message) }
        switch (report.reason, status) {
        case ("Shutdown", _): return .staleConnection(verdict(.shutdown))
        case ("InternalServerError", _), (nil, 500): return .verdict(verdict(.internalError))
        case ("ServiceUnavailable", _), (nil, 502...504): return .verdict(verdict(.unavailable))
        default: return .verdict(verdict(.unexpectedStatus))
        }
    }

    /// Returns the verdict on an unknown answer.
    ///
    /// A reason that Apple has added since concerns this message; an answer without a reason comes from another system.
    private static func foreign(_ report: APNsReport) -> Verdict {
        report.reason == nil
            ? .configError(.unexpectedAnswer, scope: .provider) : .payloadError(.unexpectedStatus)
    }

    /// The reasons that Bellhop's settings can cause.
    private static let settings: Set<VerdictReason> = [.badTopic, .missingTopic, .topicDisallowed]

    /// The reasons that an incorrect builder could cause.
    private static let messages: Set<VerdictReason> = [
        .badCollapseID, .badExpirationDate, .badMessageID, .badPriority, .invalidPushType, .payloadEmpty,
        .missingDeviceToken, .duplicateHeaders,
    ]

    private static let credentials: Set<VerdictReason> = [
        .badCertificate, .badCertificateEnvironment, .invalidProviderToken, .missingProviderToken, .forbidden,
        .badEnvironmentKeyID,
    ]
}

/// The content of an APNs error answer.
///
/// Every part may be missing, and the whole body may be a page.
struct APNsReport {
    /// Apple's reason, such as `BadDeviceToken`.
    let reason: String?

    /// The time from which the device is gone; a 410 contains it in milliseconds.
    let timestamp: Timestamp?

    init(body: [UInt8]) {
        guard !body.isEmpty, let value = JSONParser().parse(body).value else {
            reason = nil
            timestamp = nil
            return
        }
        reason = value["reason"]?.string
        let milliseconds = value["timestamp"]?.number?.int64
        timestamp = milliseconds.flatMap { milliseconds in
            let (microseconds, overflows) = milliseconds.multipliedReportingOverflow(by: 1_000)
            return overflows ? nil : Timestamp(microseconds: microseconds)
        }
    }

    /// Returns the reason if it is in the given set.
    func known(of reasons: Set<VerdictReason>) -> VerdictReason? {
        reason.flatMap(VerdictReason.init).flatMap { reasons.contains($0) ? $0 : nil }
    }
}
