import BellhopRules
import ServiceRuntime
import Synchronization

/// Emulates `https://fcm.googleapis.com`: one message per request, to a device, a topic or a condition.
///
/// The device token decides the outcome of a valid message: `dead-…` is no longer registered, `invalid-…` never was a
/// token and `mismatch-…` belongs to another project. Every other device gets its push.
final class FCMStandIn: ProviderStandIn {
    let name = ProviderName.fcm
    private let tokens: AccessTokens
    private let sent = Atomic<UInt64>(0)

    init(tokens: AccessTokens) { self.tokens = tokens }

    func serves(path: String) -> Bool { path.hasPrefix("/v1/projects/") }

    func judge(_ request: HTTP2Request, now: Instant) -> ProviderDecision {
        guard let projectID = Self.projectID(request) else {
            let page = StandInAnswer(http: .html(404, "Not Found"), reason: nil)
            return .refuse("there is only POST /v1/projects/{project}/messages:send", page)
        }
        if let error = credentialError(request, projectID, now) { return .refuse(error.message, error.answer) }
        switch Self.message(request) {
        case .failure(let error): return .refuse(error.message, error.answer)
        case .success(let body):
            var judgement = judge(body, projectID, now)
            judgement.token = body.message["token"]?.string
            judgement.tag = body.message.tag
            return judgement
        }
    }

    func answer(to fault: SandboxFault.Answer) -> StandInAnswer { FCMError.answer(to: fault) }

    /// Returns `nil` for anything except a `POST` to `/v1/projects/{project}/messages:send`.
    private static func projectID(_ request: HTTP2Request) -> String? {
        let parts = request.path.split(separator: "/", omittingEmptySubsequences: false)
        guard request.method == "POST", parts.count == 5, parts[4] == "messages:send", !parts[3].isEmpty else {
            return nil
        }
        return String(parts[3])
    }

    private func credentialError(_ request: HTTP2Request, _ projectID: String, _ now: Instant) -> FCMError? {
        guard let value = request.headers["authorization"] else { return .noCredentials }
        let parts = value.split(separator: " ", maxSplits: 1)
        guard parts.count == 2, parts[0].lowercased() == "bearer" else { return .badCredentials(hasExpired: false) }
        switch tokens.standing(of: String(parts[1]), now: now) {
        case .unknown: return .badCredentials(hasExpired: false)
        case .expired: return .badCredentials(hasExpired: true)
        case .good(let granted): return granted == projectID ? nil : .forbidden(projectID: projectID)
        }
    }

    private func judge(_ body: ParsedFCMBody, _ projectID: String, _ now: Instant) -> ProviderDecision {
        let violations = FCMMessageRules.violations(in: body.message)
        if !violations.isEmpty {
            let error = FCMError.invalid(violations)
            return .refuse(error.message, error.answer)
        }
        let limit = body.message["token"] == nil ? FCMMessageRules.topicBytes : FCMMessageRules.deviceBytes
        guard FCMMessageSize(body.message).bytes <= limit else {
            return .refuse(FCMError.tooBig.message, FCMError.tooBig.answer)
        }
        let token = body.message["token"]?.string ?? ""
        if let error = Self.verdict(on: token) { return ProviderDecision { error.answer } }
        let isRehearsal = body.isRehearsal
        return ProviderDecision { [self] in
            let id = isRehearsal ? "fake_message_id" : nextMessageID(now)
            let answer: JSONValue = ["name": .string("projects/\(projectID)/messages/\(id)")]
            return StandInAnswer(http: .json(200, JSONWriter.canonicalBytes(of: answer)), reason: nil)
        }
    }

    private static func verdict(on token: String) -> FCMError? {
        if token.hasPrefix("dead-") { return .unregistered }
        if token.hasPrefix("invalid-") || token.utf8.contains(where: { $0 <= 0x20 || $0 >= 0x7F }) {
            return .invalidToken
        }
        return token.hasPrefix("mismatch-") ? .senderMismatch : nil
    }

    /// Returns an id in the form of the real ones: a time in microseconds and a number that no other message has.
    private func nextMessageID(_ now: Instant) -> String {
        let number = sent.wrappingAdd(1, ordering: .relaxed).newValue
        let digits = String(number, radix: 16)
        return "0:\(now.microseconds)%" + String(repeating: "0", count: 16 - digits.count) + digits
    }

    private static func message(_ request: HTTP2Request) -> Result<ParsedFCMBody, FCMError> {
        let type = request.headers["content-type"]?.split(separator: ";").first.map { $0.lowercased() }
        guard type == "application/json" else {
            return .failure(FCMError(400, "INVALID_ARGUMENT", "The content type must be application/json."))
        }
        let root: JSONObject
        switch JSONParser().parse(request.body) {
        case .failure(let fault):
            let message = "Invalid JSON payload received. \(fault.message)"
            return .failure(FCMError(400, "INVALID_ARGUMENT", message))
        case .success(let value):
            guard let object = value.object else {
                let message = "Invalid JSON payload received. Unexpected \(value.typeName) at the root."
                return .failure(FCMError(400, "INVALID_ARGUMENT", message))
            }
            root = object
        }
        let violations = FCMFormCheck.violations(in: root)
        guard violations.isEmpty else { return .failure(.malformed(violations)) }
        let message = FCMMessage.field("message", of: root)?.object ?? JSONObject()
        let isRehearsal = FCMMessage.field("validate_only", of: root)?.bool ?? false
        return .success(ParsedFCMBody(message: FCMMessage(root: message), isRehearsal: isRehearsal))
    }
}

/// A well-formed body.
private struct ParsedFCMBody {
    let message: FCMMessage
    /// The value of `validate_only`: everything is checked and nothing is sent.
    let isRehearsal: Bool
}
