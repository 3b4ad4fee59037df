import BellhopRules
package import HTTPTransfer

/// Converts the outcome of one request to Expo into verdicts on its messages, or into smaller requests.
package enum ExpoAnswer {
    package enum Reading: Hashable, Sendable {
        /// One verdict for each message, in their order.
        case verdicts([Verdict])
        /// The same verdict for all messages.
        case all(Verdict)
        /// Nothing was sent, because the tokens are from several projects.
        ///
        /// Each project's messages need a separate request.
        case mixed([String: [String]])
        /// Nothing was sent because of one of the messages, which is found by halving the request.
        ///
        /// A request of one message gets this verdict.
        case halve(Verdict)
    }

    /// The minimum wait before any request is repeated.
    package static let shortestWait: Duration = .seconds(5)

    /// The wait of a project that sends too fast, if Expo names none.
    package static let projectWait: Duration = .seconds(30)

    /// Reads an outcome; `count` is the number of messages in the request.
    package static func read(_ outcome: TransferOutcome, count: Int) -> Reading {
        switch outcome {
        case .notSent(let error): return .all(.notSent(error, shortestWait: shortestWait))
        case .unknown(let error): return .all(.lostSight(error, shortestWait: shortestWait))
        case .answered(let answer):
            let value = parser.parse(answer.body).value
            if let trouble = trouble(answer, value) { return trouble }
            return tickets(value, answer.body, count: count)
        }
    }

    /// Returns the reason why a request failed as a whole; `nil` if it did not.
    static func trouble(_ answer: TransferAnswer, _ value: JSONValue?) -> Reading? {
        let refusal = ExpoRefusal(value)
        switch refusal?.code {
        case "PUSH_TOO_MANY_EXPERIENCE_IDS": return .mixed(refusal?.tokensByProject ?? [:])
        case "PUSH_TOO_MANY_NOTIFICATIONS", "PUSH_TOO_MANY_RECEIPTS":
            return .halve(.configError(.unexpectedAnswer, scope: .provider))
        case "TOO_MANY_REQUESTS": return .all(tooMany(answer))
        case "UNAUTHORIZED": return .all(.configError(.notAuthorized, scope: .provider))
        default: break
        }
        switch answer.status {
        case 200...299:
            guard refusal != nil, value?["data"] == nil else { return nil }
            return .halve(.payloadError(.unspecifiedError))
        case 401, 403: return .all(.configError(.notAuthorized, scope: .provider))
        case 429: return .all(tooMany(answer))
        case 408, 500...599: return .all(unavailable(answer))
        case 413: return .halve(.payloadError(.payloadTooLarge))
        // A page, a redirect or an address that does not exist comes from a system other than Expo.
        case ..<400, 404, 405, 407: return .all(.configError(.unexpectedStatus, scope: .provider))
        default:
            return refusal == nil
                ? .all(.configError(.unexpectedAnswer, scope: .provider)) : .halve(.payloadError(.invalidMessage))
        }
    }

    /// Reads the tickets, which have the order and the number of the messages.
    ///
    /// With any other content of a success, the outcome is unknown, except for a page, which does not come from Expo.
    private static func tickets(_ value: JSONValue?, _ body: [UInt8], count: Int) -> Reading {
        guard isFromExpo(body) else { return .all(.configError(.unexpectedAnswer, scope: .provider)) }
        let tickets = value?["data"]?.array ?? []
        guard tickets.count == count else { return .all(.unknown(.unexpectedAnswer, notBefore: shortestWait)) }
        return .verdicts(tickets.map(verdict))
    }

    /// Returns whether a body may come from Expo.
    ///
    /// A page does not, whatever its status; an incomplete answer may.
    static func isFromExpo(_ body: [UInt8]) -> Bool {
        let beginning = body.first { $0 > 0x20 }
        return beginning == nil || beginning == UInt8(ascii: "{")
    }

    private static func verdict(_ ticket: JSONValue) -> Verdict {
        switch ticket["status"]?.string {
        case "ok":
            // Without an id, no receipt can be requested; acceptance is the last known state.
            guard let id = ticket["id"]?.string, isTicket(id) else { return .delivered(providerMessageID: nil) }
            return .accepted(ticket: id)
        case "error": return ExpoMessageError.verdict(ticket)
        default: return .unknown(.unexpectedAnswer, notBefore: shortestWait)
        }
    }

    private static func isTicket(_ text: String) -> Bool {
        (1...256).contains(text.utf8.count) && text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
    }

    private static func tooMany(_ answer: TransferAnswer) -> Verdict {
        .retry(.requestRate, notBefore: waitAsked(answer) ?? projectWait, scope: .provider)
    }

    private static func unavailable(_ answer: TransferAnswer) -> Verdict {
        let reason: VerdictReason =
            switch answer.status {
            case 500: .internalError
            case 502...504: .unavailable
            default: .unexpectedStatus
            }
        return .retry(reason, notBefore: waitAsked(answer) ?? shortestWait, scope: .message)
    }

    private static func waitAsked(_ answer: TransferAnswer) -> Duration? {
        answer.retryAfterSeconds.map { max(shortestWait, ProviderWait.clamped(retryAfterSeconds: $0)) }
    }

    static let parser = JSONParser(limits: .init(bytes: 4 << 20, depth: 32))
}

/// The reason why Expo rejected a whole request: the first of its `errors`.
struct ExpoRefusal {
    /// The code, such as `PUSH_TOO_MANY_EXPERIENCE_IDS`.
    let code: String
    /// The tokens of each of the mixed projects, for that code.
    let tokensByProject: [String: [String]]

    /// Reads a rejection; `nil` if the answer contains no errors in Expo's form and thus comes from another system.
    init?(_ answer: JSONValue?) {
        guard let error = answer?["errors"]?.array?.first?.object else { return nil }
        code = error["code"]?.string ?? ""
        guard case .object(let details)? = error["details"] else {
            tokensByProject = [:]
            return
        }
        let projects = details.members.compactMap { member in
            member.value.array.map { (member.key, $0.compactMap(\.string)) }
        }
        tokensByProject = Dictionary(projects) { first, _ in first }
    }
}

/// Converts Expo's error for one message into a verdict; tickets and receipts have the same form.
///
/// The form is `{"status": "error", "message": …, "details": {"error": <code>}}`; the details may be missing.
enum ExpoMessageError {
    /// The wait after one device has received more than Expo allows; only this device is slowed down.
    static let deviceWait: Duration = .seconds(60)

    static func verdict(_ report: JSONValue) -> Verdict {
        guard let code = report["details"]?["error"]?.string else {
            let message = report["message"]?.string ?? ""
            return blamesToken(message) ? .deviceGone(.invalidToken, at: nil) : .payloadError(.invalidMessage)
        }
        switch code {
        case "DeviceNotRegistered": return .deviceGone(.deviceNotRegistered, at: nil)
        case "MessageTooBig": return .payloadError(.messageTooBig)
        case "MessageRateExceeded": return .retry(.messageRateExceeded, notBefore: deviceWait, scope: .device)
        // The credentials of the Expo project for FCM or APNs; each platform has its own.
        case "MismatchSenderId": return .configError(.mismatchedSender, scope: .platform)
        case "InvalidCredentials": return .configError(.invalidCredentials, scope: .platform)
        case "DeveloperError": return .configError(.developerError, scope: .provider)
        case "ProviderError": return .retry(.providerError, notBefore: ExpoAnswer.shortestWait, scope: .message)
        case "ExpoError": return .retry(.expoError, notBefore: ExpoAnswer.shortestWait, scope: .message)
        default: return .payloadError(.unspecifiedError)
        }
    }

    private static func blamesToken(_ message: String) -> Bool {
        message.contains("is not a valid Expo push token") || message.contains("is not a registered push notification")
    }
}
