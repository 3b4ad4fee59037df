import BellhopRules
import ServiceRuntime

/// A rejection by APNs: a status, one of Apple's reasons, and the cause.
struct APNsRefusal: Error, Sendable, Equatable {
    let status: Int
    /// A reason such as `BadDeviceToken`; `nil` for a status for which Apple names no reason.
    let reason: String?
    /// The cause, for operators who read the recorded requests.
    let why: String
    /// The time since which the device is gone.
    ///
    /// APNs reports it only with status 410.
    var since: Instant?

    init(_ status: Int, _ reason: String?, _ why: String, since: Instant? = nil) {
        self.status = status
        self.reason = reason
        self.why = why
        self.since = since
    }

    /// Returns the answer to a request with the `apns-id` `id`.
    func answer(id: String?) -> StandInAnswer {
        var fields = id.map { [HTTP2Answer.Field(name: "apns-id", value: $0)] } ?? []
        guard let reason else {
            return StandInAnswer(http: HTTP2Answer(status: status, fields: fields), reason: nil)
        }
        var body: JSONObject = ["reason": .string(reason)]
        if let since { body["timestamp"] = .number(JSONNumber(since.microseconds / 1_000)) }
        fields.append(HTTP2Answer.Field(name: "content-type", value: "application/json"))
        let bytes = JSONWriter.canonicalBytes(of: .object(body))
        return StandInAnswer(http: HTTP2Answer(status: status, fields: fields, body: bytes), reason: reason)
    }

    /// Returns the rejection that a fault requests, with the usual reason of its status unless the fault names one.
    static func asked(_ fault: SandboxFault.Answer, now: Instant) -> APNsRefusal {
        APNsRefusal(
            fault.status,
            fault.reason ?? usualReason(fault.status),
            "The sandbox was told to send this.",
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
