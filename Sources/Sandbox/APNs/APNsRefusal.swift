import BellhopRules
import ServiceRuntime

/// A "no" of APNs: a status, one of its reasons, and what made it say so.
struct APNsRefusal: Error, Sendable, Equatable {
    let status: Int
    /// Such as `BadDeviceToken`; nil for a status that Apple names no reason for.
    let reason: String?
    /// For whoever reads what was received.
    let why: String
    /// Since when the device is gone; APNs says so with a 410 alone.
    var since: Instant?

    init(_ status: Int, _ reason: String?, _ why: String, since: Instant? = nil) {
        self.status = status
        self.reason = reason
        self.why = why
        self.since = since
    }

    /// The answer to a request that called itself `id`.
    func answer(id: String?) -> ProviderAnswer {
        var fields = id.map { [HTTP2Answer.Field(name: "apns-id", value: $0)] } ?? []
        guard let reason else {
            return ProviderAnswer(http: HTTP2Answer(status: status, fields: fields), reason: nil)
        }
        var body: JSONObject = ["reason": .string(reason)]
        if let since { body["timestamp"] = .number(JSONNumber(since.microseconds / 1_000)) }
        fields.append(HTTP2Answer.Field(name: "content-type", value: "application/json"))
        let bytes = JSONWriter.canonicalBytes(of: .object(body))
        return ProviderAnswer(http: HTTP2Answer(status: status, fields: fields, body: bytes), reason: reason)
    }

    /// What a fault asks for; the usual reason of its status unless it names one.
    static func asked(_ fault: SandboxFault.Answer, now: Instant) -> APNsRefusal {
        APNsRefusal(
            fault.status,
            fault.reason ?? usualReason(fault.status),
            "The sandbox was asked to say so.",
            since: fault.status == 410 ? now : nil
        )
    }

    private static func usualReason(_ status: Int) -> String? {
        switch status {
        case 400: "PayloadEmpty"
        case 403: "InvalidProviderToken"
        case 404: "BadPath"
        case 405: "MethodNotAllowed"
        case 410: "Unregistered"
        case 413: "PayloadTooLarge"
        case 429: "TooManyRequests"
        case 500: "InternalServerError"
        case 503: "ServiceUnavailable"
        default: nil
        }
    }
}
