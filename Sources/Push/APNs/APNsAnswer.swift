import BellhopRules
package import HTTPTransfer

/// Reads what became of one request to APNs: one verdict for every row of APNs' table of errors.
///
/// An answer without one of Apple's reasons where there must be one is somebody else's, and costs nobody a token.
package enum APNsAnswer {
    package enum Reading: Hashable, Sendable {
        case verdict(Verdict)
        /// The provider token is too old: worth a fresh one and one repeat, where ours is old enough.
        case expiredToken
        /// The connection belongs to another key: worth a new one and one repeat.
        case unrelatedKey
        /// The verdict stands, and the connection is of no use any more.
        case staleConnection(Verdict)
        /// Provider tokens change too often: everything with this key must rest.
        case tooManyTokens
    }

    /// APNs names none for what never reached it; often connecting looks like an attack to it.
    package static let shortestWait: Duration = .seconds(10)

    /// What Apple asks for after any 5xx.
    package static let troubleWait: Duration = .seconds(15 * 60)

    /// After too many for one device.
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

    /// A 2xx says that the push was taken; a page says that it was not APNs who spoke.
    private static func taken(_ id: String?, _ body: [UInt8]) -> Verdict {
        guard !AnswerPage.isOne(body) else { return .configError(.unexpectedAnswer, scope: .provider) }
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

    /// A reason that Apple has added since is about this message; without a reason something else answers.
    private static func foreign(_ report: APNsReport) -> Verdict {
        report.reason == nil
            ? .configError(.unexpectedAnswer, scope: .provider) : .payloadError(.unexpectedStatus)
    }

    /// What our settings make APNs say.
    private static let settings: Set<VerdictReason> = [.badTopic, .missingTopic, .topicDisallowed]

    /// What our builder would make APNs say, were it wrong.
    private static let messages: Set<VerdictReason> = [
        .badCollapseID, .badExpirationDate, .badMessageID, .badPriority, .invalidPushType, .payloadEmpty,
        .missingDeviceToken, .duplicateHeaders,
    ]

    private static let credentials: Set<VerdictReason> = [
        .badCertificate, .badCertificateEnvironment, .invalidProviderToken, .missingProviderToken, .forbidden,
        .badEnvironmentKeyID,
    ]
}
