import BellhopRules

/// A push service's rejection with Mozilla's error numbers or, if Mozilla has none, with other services' texts.
struct WebPushError: Error, Sendable, Equatable {
    let status: Int
    /// Mozilla's error number; `nil` for a rejection in plain text.
    let number: Int?
    let message: String

    init(_ status: Int, _ number: Int?, _ message: String) {
        self.status = status
        self.number = number
        self.message = message
    }

    static func header(_ message: String) -> WebPushError { WebPushError(400, 110, message) }
    static func crypto(_ message: String) -> WebPushError { WebPushError(400, 111, message) }
    static func unauthorized(_ message: String) -> WebPushError { WebPushError(401, 109, message) }

    static let unknown = WebPushError(404, 102, "Request did not validate invalid token")
    static let gone = WebPushError(410, 106, "No such subscription")
    static let tooLarge = WebPushError(413, 104, "This message is intended for a constrained device and is too big.")

    /// FCM's text for a message that is signed with another key than the browser subscribed with.
    static let otherKey = WebPushError(
        403,
        nil,
        "the VAPID credentials in the authorization header do not correspond to the credentials used to create the "
            + "subscriptions."
    )

    var answer: StandInAnswer {
        guard let number else {
            let type = HTTP2Answer.Field(name: "content-type", value: "text/plain; charset=utf-8")
            return StandInAnswer(
                http: HTTP2Answer(status: status, fields: [type], body: Array(message.utf8)),
                reason: nil
            )
        }
        let body: JSONValue = [
            "code": .whole(status), "errno": .whole(number), "error": .string(Self.titles[status] ?? "Error"),
            "message": .string(message),
            "more_info": "http://autopush.readthedocs.io/en/latest/http.html#error-codes",
        ]
        return StandInAnswer(http: .json(status, JSONWriter.canonicalBytes(of: body)), reason: String(number))
    }

    /// Returns the answer that a fault requests.
    ///
    /// A reason of one word gives Apple's form, a reason of several words plain text, and no reason Mozilla's form.
    static func answer(to fault: SandboxFault.Answer) -> StandInAnswer {
        guard let reason = fault.reason else {
            let error = WebPushError(fault.status, usual[fault.status] ?? 999, "The sandbox was told to send this.")
            return error.answer.with(retryAfter: fault.retryAfter)
        }
        guard reason.contains(" ") else {
            let body = JSONWriter.canonicalBytes(of: ["reason": .string(reason)])
            return StandInAnswer(http: .json(fault.status, body), reason: reason).with(retryAfter: fault.retryAfter)
        }
        return WebPushError(fault.status, nil, reason).answer.with(retryAfter: fault.retryAfter)
    }

    private static let usual = [
        400: 110, 401: 109, 403: 109, 404: 102, 410: 106, 413: 104, 429: 201, 500: 999, 502: 900, 503: 201,
    ]

    private static let titles = [
        400: "Bad Request", 401: "Unauthorized", 403: "Forbidden", 404: "Not Found", 410: "Gone",
        413: "Payload Too Large", 429: "Too Many Requests", 500: "Internal Server Error", 502: "Bad Gateway",
        503: "Service Unavailable",
    ]
}
