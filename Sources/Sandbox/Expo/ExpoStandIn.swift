import BellhopRules
import Compression
import ServiceRuntime

/// Emulates `https://exp.host`: up to a hundred messages per request, a ticket for each, and receipts some time later.
///
/// The token decides the outcome of a valid message (`ExpoToken`). Faults apply to three kinds of objects:
///
/// - whole requests, matched by their path (`push/send`, `push/getReceipts`)
/// - single messages, matched by their token
/// - single receipts, matched by `receipt` or `receipt <token>`
///
/// For messages and receipts, the reason is Expo's error for one message, such as `MessageRateExceeded`. A delay or a
/// drop makes a receipt late or lost.
final class ExpoStandIn: ProviderStandIn {
    let name = ProviderName.expo
    private let accessToken: String?
    private let faults: FaultList
    private let receipts: ExpoReceiptStore

    private static let root = "/--/api/v2/push/"
    private static let largestMessage = 4_096
    private static let largestBody = 4 << 20
    private static let mostReceipts = 1_000

    init(accessToken: String?, receiptDelay: Duration, faults: FaultList) {
        self.accessToken = accessToken
        self.faults = faults
        receipts = ExpoReceiptStore(delay: receiptDelay)
    }

    func serves(path: String) -> Bool { path.hasPrefix(Self.root) }

    func answer(to fault: SandboxFault.Answer) -> StandInAnswer { ExpoError.answer(to: fault) }

    func judge(_ request: HTTP2Request, now: Instant) -> ProviderDecision {
        let method = request.path.dropFirst(Self.root.count)
        guard request.method == "POST", method == "send" || method == "getReceipts" else {
            let page = StandInAnswer(http: .html(404, "Not Found"), reason: nil)
            return .refuse("there is only POST \(Self.root)send and getReceipts", page)
        }
        if let accessToken, request.headers["authorization"] != "Bearer \(accessToken)" {
            return ExpoError.unauthorized.judgement
        }
        switch Self.body(request) {
        case .failure(let error): return error.judgement
        case .success(let body):
            let isPacked = request.headers["accept-encoding"]?.contains("gzip") ?? false
            var judgement = method == "send" ? judgeMessages(body, now, isPacked) : judgeTickets(body, now, isPacked)
            judgement.content = .json(body)
            return judgement
        }
    }

    private static func body(_ request: HTTP2Request) -> Result<JSONValue, ExpoError> {
        let type = request.headers["content-type"]?.split(separator: ";").first.map { $0.lowercased() }
        guard type == "application/json" else {
            return .failure(.invalid("The content type must be application/json."))
        }
        var bytes = request.body
        switch request.headers["content-encoding"] {
        case nil, "identity": break
        case "gzip":
            guard let expanded = Gzip.expanded(bytes, atMost: largestBody) else {
                return .failure(ExpoError(400, "VALIDATION_ERROR", "The body is not valid gzip."))
            }
            bytes = expanded
        default:
            return .failure(ExpoError(415, "VALIDATION_ERROR", "The content encoding is not supported."))
        }
        switch JSONParser(limits: .init(bytes: largestBody, depth: 64)).parse(bytes) {
        case .success(let value): return .success(value)
        case .failure(let fault): return .failure(.invalid("The body is not valid JSON: \(fault.message)"))
        }
    }

    /// Returns the value as JSON, compressed if the client requested it.
    private static func answer(_ value: JSONValue, isPacked: Bool) -> HTTP2Answer {
        let body = JSONWriter.canonicalBytes(of: value)
        guard isPacked, let packed = Gzip.compressed(body) else { return .json(200, body) }
        return .json(200, packed, [.init(name: "content-encoding", value: "gzip")])
    }

    private func judgeMessages(_ body: JSONValue, _ now: Instant, _ isPacked: Bool) -> ProviderDecision {
        switch ExpoBatch.read(body) {
        case .failure(let error): return error.judgement
        case .success(let batch):
            var judgement = ProviderDecision { [self] in answer(batch, now, isPacked) }
            judgement.parts = batch.messages.map { message in
                ProviderDecision.Part(
                    refused: Self.objection(to: message),
                    token: message.token,
                    tag: message.tag,
                    content: .json(.object(message.content))
                )
            }
            return judgement
        }
    }

    /// Returns the error of a message whose request is otherwise accepted.
    private static func objection(to message: ExpoBatch.Message) -> String? {
        if ExpoToken(message.token) == nil { return "\"\(message.token)\" is not a valid Expo push token" }
        return message.byteCount > largestMessage ? "the message is larger than \(largestMessage) bytes" : nil
    }

    private func answer(_ batch: ExpoBatch, _ now: Instant, _ isPacked: Bool) -> StandInAnswer {
        let tickets = batch.messages.map { ticket($0, now) }
        let data: JSONValue = batch.isSingle && tickets.count == 1 ? tickets[0] : .array(tickets)
        var answer = StandInAnswer(http: Self.answer(["data": data], isPacked: isPacked), reason: nil)
        answer.reasons = tickets.map { ticket in
            ticket["status"] == "ok" ? nil : ticket["details"]?["error"]?.string ?? "error"
        }
        return answer
    }

    private func ticket(_ message: ExpoBatch.Message, _ now: Instant) -> JSONValue {
        guard let token = ExpoToken(message.token) else {
            return ["status": "error", "message": .string("\"\(message.token)\" is not a valid Expo push token")]
        }
        if case .answer(let answer)? = faults.take(.expo, token: token.text, path: "")?.effect {
            return Self.failure(answer.reason ?? "ExpoError", token)
        }
        if case .ticket(let error)? = token.fate { return Self.failure(error, token) }
        let fault = faults.take(.expo, token: "receipt \(token.text)", path: "")
        let ticket = receipts.issue(
            Self.receipt(message, token, fault?.effect),
            now: now,
            late: fault?.delay ?? .zero
        )
        return ["status": "ok", "id": .string(ticket)]
    }

    /// Returns `nil` if the message never gets a receipt.
    private static func receipt(
        _ message: ExpoBatch.Message,
        _ token: ExpoToken,
        _ effect: SandboxFault.Effect?
    ) -> JSONValue? {
        if case .drop? = effect { return nil }
        if case .answer(let answer)? = effect { return failure(answer.reason ?? "ExpoError", token) }
        guard message.byteCount <= largestMessage else { return failure("MessageTooBig", token) }
        switch token.fate {
        case nil, .ticket: return ["status": "ok"]
        case .receipt(let error): return failure(error, token)
        case .noReceipt: return nil
        }
    }

    private static func failure(_ error: String, _ token: ExpoToken) -> JSONValue {
        let message =
            error == "DeviceNotRegistered"
            ? "\"\(token.text)\" is not a registered push notification recipient" : "The message did not go through."
        return [
            "status": "error", "message": .string(message),
            "details": ["error": .string(error), "expoPushToken": .string(token.text)],
        ]
    }

    private func judgeTickets(_ body: JSONValue, _ now: Instant, _ isPacked: Bool) -> ProviderDecision {
        let elements = body["ids"]?.array ?? []
        let tickets = elements.compactMap(\.string)
        guard !elements.isEmpty, tickets.count == elements.count else {
            return ExpoError.invalid("\"ids\" must be an array of strings").judgement
        }
        guard tickets.count <= Self.mostReceipts else { return ExpoError.tooManyReceipts.judgement }
        return ProviderDecision { [receipts] in
            let found = JSONObject(receipts.receipts(of: tickets, now: now))
            return StandInAnswer(http: Self.answer(["data": .object(found)], isPacked: isPacked), reason: nil)
        }
    }
}
