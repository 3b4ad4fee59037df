import BellhopRules

/// Expo's rejection of a whole request: `{"errors": [{"code": …, "message": …}]}`.
struct ExpoError: Error {
    let status: Int
    let code: String
    let message: String
    var details: JSONValue?

    init(_ status: Int, _ code: String, _ message: String) {
        self.status = status
        self.code = code
        self.message = message
    }

    var answer: StandInAnswer {
        var error: JSONObject = [
            "code": .string(code), "message": .string(message), "isTransient": .bool(status == 429 || status >= 500),
        ]
        error["details"] = details
        let body = JSONWriter.canonicalBytes(of: ["errors": [.object(error)]])
        return StandInAnswer(http: .json(status, body), reason: code)
    }

    var judgement: ProviderDecision { .refuse(message, answer) }

    static func invalid(_ message: String) -> ExpoError { ExpoError(400, "VALIDATION_ERROR", message) }

    static let unauthorized = ExpoError(401, "UNAUTHORIZED", "The access token is missing or is not this project's.")

    static let tooManyNotifications = ExpoError(
        400,
        "PUSH_TOO_MANY_NOTIFICATIONS",
        "A request may have 100 notifications at most."
    )

    static let tooManyReceipts = ExpoError(
        400,
        "PUSH_TOO_MANY_RECEIPTS",
        "A request may ask for 1000 receipts at most."
    )

    /// Returns the error for tokens of several projects.
    ///
    /// It lists the tokens of each project, so that the sender can separate them.
    static func mixed(_ projects: [String: [String]]) -> ExpoError {
        var error = ExpoError(
            400,
            "PUSH_TOO_MANY_EXPERIENCE_IDS",
            "All push notification messages in the same request must be for the same project; "
                + "check the details field to investigate conflicting tokens."
        )
        let members = projects.sorted { $0.key < $1.key }.map {
            ($0.key, JSONValue.array($0.value.map(JSONValue.string)))
        }
        error.details = .object(JSONObject(members))
        return error
    }

    /// Returns the answer that a fault requests.
    ///
    /// A gateway's errors are HTML pages; all others have Expo's form.
    static func answer(to fault: SandboxFault.Answer) -> StandInAnswer {
        let isPage = fault.reason == nil && (fault.status < 400 || [404, 413, 502, 504].contains(fault.status))
        guard !isPage else {
            let page = HTTP2Answer.html(fault.status, "Server Error")
            return StandInAnswer(http: page, reason: nil).with(retryAfter: fault.retryAfter)
        }
        let usual =
            switch fault.status {
            case 401, 403: "UNAUTHORIZED"
            case 429: "TOO_MANY_REQUESTS"
            case 500...: "INTERNAL_SERVER_ERROR"
            default: "VALIDATION_ERROR"
            }
        let error = ExpoError(fault.status, fault.reason ?? usual, "The sandbox was told to send this.")
        return error.answer.with(retryAfter: fault.retryAfter)
    }
}
