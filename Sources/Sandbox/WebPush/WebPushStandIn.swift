import BellhopRules
import ServiceRuntime
import Synchronization

/// Emulates the push services of browsers and the browsers behind them: it decrypts the messages that it accepts.
struct WebPushStandIn: ProviderStandIn {
    let name = ProviderName.webpush
    let subscriptions: BrowserSubscriptions
    /// The required audience of authorizations.
    let origin: String

    /// The maximum time to live in seconds, the same as Mozilla's.
    private static let longestLife = 2_592_000

    func serves(path: String) -> Bool { path.hasPrefix(BrowserSubscriptions.path) }

    func judge(_ request: HTTP2Request, now: Instant) -> ProviderDecision {
        let id = String(request.path.dropFirst(BrowserSubscriptions.path.count))
        var judgement: ProviderDecision
        do throws(WebPushError) {
            judgement = try judge(request, id, now: now)
        } catch {
            judgement = .refuse(error.message, error.answer)
            // The body of a rejected request is not recorded, because no browser receives it and it may contain a valid
            // sign-in.
            judgement.content = .json(.null)
        }
        judgement.token = subscriptions.base + id
        return judgement
    }

    func answer(to fault: SandboxFault.Answer) -> StandInAnswer { WebPushError.answer(to: fault) }

    private func judge(_ request: HTTP2Request, _ id: String, now: Instant) throws(WebPushError) -> ProviderDecision {
        guard request.method == "POST" else { throw WebPushError(405, 999, "Use POST.") }
        try Self.checkHeaders(request)
        let signIn = try VAPIDSignIn(request.headers["authorization"])
        try signIn.check(origin: origin, now: now)
        guard request.body.count <= 4096 else { throw .tooLarge }
        let subscription: BrowserSubscription
        switch subscriptions.standing(of: id) {
        case .unknown: return ProviderDecision { WebPushError.unknown.answer }
        case .ended: return ProviderDecision { WebPushError.gone.answer }
        case .living(let living): subscription = living
        }
        if let key = subscription.applicationServerKey, key != signIn.key { throw .otherKey }
        let opened: BrowserSubscription.Opened
        switch subscription.opened(request.body) {
        case .failure(let fault): throw .crypto(fault.text)
        case .success(let content): opened = content
        }
        let payload = (try? JSONParser().parse(opened.payload).get()) ?? .null
        guard payload.object != nil else { throw .crypto("the service worker expects a JSON object") }
        var judgement = ProviderDecision { [base = subscriptions.base] in
            let place = HTTP2Answer.Field(name: "location", value: "\(base)message/\(id)")
            let life = HTTP2Answer.Field(name: "ttl", value: request.headers["ttl"] ?? "0")
            return StandInAnswer(http: HTTP2Answer(status: 201, fields: [place, life]), reason: nil)
        }
        judgement.tag = payload["tag"]?.string
        judgement.content = .json([
            "payload": payload, "paddedLength": .whole(opened.paddedLength), "vapid": signIn.json,
        ])
        return judgement
    }

    private static func checkHeaders(_ request: HTTP2Request) throws(WebPushError) {
        let encodings = request.headers.fields.filter { $0.name == "content-encoding" }.map(\.value)
        guard encodings == ["aes128gcm"] else { throw .header("The content encoding must be aes128gcm, once.") }
        guard let life = request.headers["ttl"] else { throw WebPushError(400, 112, "Missing TTL header") }
        guard let seconds = whole(life), seconds <= longestLife else {
            throw WebPushError(400, 112, "Invalid TTL header value")
        }
        if let topic = request.headers["topic"] {
            guard (1...32).contains(topic.utf8.count), topic.utf8.allSatisfy(isOfTopic) else {
                throw WebPushError(400, 113, "Topic must be no greater than 32 characters of base64url")
            }
        }
        if let urgency = request.headers["urgency"] {
            guard ["very-low", "low", "normal", "high"].contains(urgency) else {
                throw .header("The urgency must be very-low, low, normal or high.")
            }
        }
    }

    private static func whole(_ text: String) -> Int? {
        (1...10).contains(text.utf8.count) && text.utf8.allSatisfy { (0x30...0x39).contains($0) } ? Int(text) : nil
    }

    private static func isOfTopic(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
            || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
    }
}
