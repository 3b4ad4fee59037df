import BellhopRules
package import HTTPTransfer

/// Converts the outcome of one request to FCM into a verdict, with one verdict for every row of FCM's table of errors.
///
/// No part of the body is assumed to exist: details may be missing or in any order, and gateways answer with HTML. A
/// 404 without details never revokes a device, because a wrong project id causes the same answer.
package enum FCMAnswer {
    package enum Reading: Hashable, Sendable {
        case verdict(Verdict)
        /// The access token was rejected.
        ///
        /// One new token and one repeat are worthwhile; after that, it is a configuration error.
        case staleAccessToken
    }

    /// FCM's minimum wait before a request is repeated.
    package static let shortestWait: Duration = .seconds(10)

    /// FCM's wait after "too many requests" if the answer names none.
    package static let quotaWait: Duration = .seconds(60)

    package static func read(_ outcome: TransferOutcome) -> Reading {
        switch outcome {
        case .answered(let answer):
            read(status: answer.status, retryAfterSeconds: answer.retryAfterSeconds, body: answer.body)
        case .notSent(let error): .verdict(.notSent(error, shortestWait: shortestWait))
        case .unknown(let error): .verdict(.lostSight(error, shortestWait: shortestWait))
        }
    }

    package static func read(status: Int, retryAfterSeconds: Int?, body: [UInt8]) -> Reading {
        guard status < 200 || status > 299 else { return .verdict(accepted(body)) }
        let report = FCMErrorReport(body: body)
        switch status {
        case 400: return .verdict(badRequest(report))
        case 401: return report.blamesThirdParty ? .verdict(thirdParty) : .staleAccessToken
        case 403: return .verdict(forbidden(report))
        case 404: return .verdict(notFound(report))
        case 413: return .verdict(.payloadError(.payloadTooLarge))
        case 429: return .verdict(tooMany(report, retryAfterSeconds))
        case 408, 500...599:
            let wait = ProviderWait.asked(retryAfterSeconds, atLeast: shortestWait)
            return .verdict(.retry(trouble(status, report), notBefore: wait, scope: .message))
        // Redirects, wrong methods and proxies come from a system other than FCM.
        case ..<400, 405, 407: return .verdict(.configError(.unexpectedStatus, scope: .provider))
        default: return .verdict(.payloadError(report.errorCode == nil ? .unexpectedStatus : .unspecifiedError))
        }
    }

    /// Returns the verdict on a 2xx.
    ///
    /// It means that the message was accepted, with or without its name, except if the body is a page, which FCM never
    /// sends.
    private static func accepted(_ body: [UInt8]) -> Verdict {
        if let name = usualName(body) { return .delivered(providerMessageID: name) }
        guard let value = parser.parse(body).value else {
            return HTMLErrorPage.isOne(body)
                ? .configError(.unexpectedAnswer, scope: .provider) : .delivered(providerMessageID: nil)
        }
        guard let name = value["name"]?.string, nameLengths.contains(name.utf8.count),
            name.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F })
        else { return .delivered(providerMessageID: nil) }
        return .delivered(providerMessageID: name)
    }

    /// Returns the name in FCM's usual answer, an object with this member alone; `nil` for any other answer, which is
    /// parsed as JSON.
    private static func usualName(_ body: [UInt8]) -> String? {
        body.withUnsafeBufferPointer { body in
            var cursor = TextCursor(body)
            guard cursor.skipMark(UInt8(ascii: "{")), cursor.skip("\"name\"" as StaticString),
                cursor.skipMark(UInt8(ascii: ":")), let name = cursor.plainString(), nameLengths.contains(name.count),
                name.allSatisfy({ $0 > 0x20 && $0 < 0x7F }), cursor.skipMark(UInt8(ascii: "}")), cursor.isAtEnd
            else { return nil }
            return String(decoding: name, as: UTF8.self)
        }
    }

    /// The permitted lengths of a message's name in bytes.
    private static let nameLengths = 1...256

    private static func badRequest(_ report: FCMErrorReport) -> Verdict {
        if report.errorCode == "UNREGISTERED" { return .deviceGone(.unregistered, at: nil) }
        if report.blamesToken { return .deviceGone(.invalidToken, at: nil) }
        let isUnspecified = report.errorCode == "UNSPECIFIED_ERROR"
        return .payloadError(isUnspecified ? .unspecifiedError : .invalidArgument)
    }

    /// The verdict on wrong credentials of the Firebase project for APNs or Web Push; Android is not affected.
    private static let thirdParty = Verdict.configError(.thirdPartyAuthError, scope: .platform)

    private static func forbidden(_ report: FCMErrorReport) -> Verdict {
        if report.errorCode == "SENDER_ID_MISMATCH" { return .deviceGone(.senderIDMismatch, at: nil) }
        return report.blamesThirdParty ? thirdParty : .configError(.permissionDenied, scope: .provider)
    }

    private static func notFound(_ report: FCMErrorReport) -> Verdict {
        report.errorCode == "UNREGISTERED"
            ? .deviceGone(.unregistered, at: nil) : .configError(.notFound, scope: .provider)
    }

    private static func tooMany(_ report: FCMErrorReport, _ retryAfterSeconds: Int?) -> Verdict {
        let wait = retryAfterSeconds.map { ProviderWait.asked($0, atLeast: shortestWait) } ?? quotaWait
        return report.blamesDeviceRate
            ? .retry(.deviceRate, notBefore: wait, scope: .device)
            : .retry(.quotaExceeded, notBefore: wait, scope: .provider)
    }

    private static func trouble(_ status: Int, _ report: FCMErrorReport) -> VerdictReason {
        switch (report.errorCode ?? report.status, status) {
        case ("UNAVAILABLE", _): .unavailable
        case ("INTERNAL", _): .internalError
        case ("UNSPECIFIED_ERROR", _): .unspecifiedError
        case (_, 500): .internalError
        case (_, 502...504): .unavailable
        default: .unexpectedStatus
        }
    }

    private static let parser = JSONParser()
}

/// The content of an FCM error answer.
///
/// Every part may be missing, and the whole body may be an HTML page.
struct FCMErrorReport {
    /// The `google.rpc` code, such as `INVALID_ARGUMENT`.
    let status: String?
    /// FCM's own code, such as `UNREGISTERED`, at any position in `details`.
    let errorCode: String?
    /// Whether FCM rejects the token.
    let blamesToken: Bool
    /// Whether the exceeded limit is that of a single device.
    let blamesDeviceRate: Bool

    /// Whether FCM could not sign in at APNs or at a browser's push service; the second name is the older one.
    var blamesThirdParty: Bool { errorCode == "THIRD_PARTY_AUTH_ERROR" || errorCode == "APNS_AUTH_ERROR" }

    private static let parser = JSONParser(limits: .init(bytes: 1 << 20, depth: 32))

    init(body: [UInt8]) {
        let error = Self.parser.parse(body).value?["error"]
        let message = (error?["message"]?.string ?? "").lowercased()
        let details = error?["details"]?.array ?? []
        status = error?["status"]?.string
        errorCode = details.lazy.compactMap(Self.errorCode).first
        blamesToken = Self.callsTokenInvalid(message) || details.contains(where: Self.namesToken)
        blamesDeviceRate = message.contains("device message rate")
    }

    private static func errorCode(_ detail: JSONValue) -> String? {
        guard detail["@type"]?.string == "type.googleapis.com/google.firebase.fcm.v1.FcmError" else { return nil }
        return detail["errorCode"]?.string
    }

    /// Returns whether a text contains one of FCM's sentences for an invalid token; `text` is in lower case.
    private static func callsTokenInvalid(_ text: String) -> Bool {
        text.contains("not a valid fcm registration token") || text.contains("invalid registration token")
    }

    /// Returns whether a detail names the token.
    ///
    /// The field has its short name if the frame of the API is left out.
    private static func namesToken(_ detail: JSONValue) -> Bool {
        detail["fieldViolations"]?.array?.contains { violation in
            if let field = violation["field"]?.string, field == "message.token" || field == "token" { return true }
            return callsTokenInvalid(violation["description"]?.string?.lowercased() ?? "")
        } ?? false
    }
}

extension Result {
    /// The value of a success; `nil` for a failure.
    var value: Success? {
        guard case .success(let value) = self else { return nil }
        return value
    }
}
