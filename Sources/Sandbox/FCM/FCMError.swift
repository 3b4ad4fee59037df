import BellhopRules

/// An error of FCM in the form of Google's services.
struct FCMError: Error, Equatable {
    let status: Int
    /// Google's name of the error, such as `INVALID_ARGUMENT`.
    let canonical: String
    let message: String
    /// FCM's name of the error, in a separate detail; many answers have none.
    var errorCode: String?
    var violations: [FCMViolation] = []
    /// The reason of an `ErrorInfo` detail.
    var errorInfo: String?

    init(_ status: Int, _ canonical: String, _ message: String, errorCode: String? = nil) {
        self.status = status
        self.canonical = canonical
        self.message = message
        self.errorCode = errorCode
    }

    /// The answer that carries this error.
    var answer: StandInAnswer {
        var error: JSONObject = [
            "code": .whole(status), "message": .string(message), "status": .string(canonical),
        ]
        if !details.isEmpty { error["details"] = .array(details) }
        let body = JSONWriter.canonicalBytes(of: ["error": .object(error)])
        var fields = [HTTP2Answer.Field(name: "vary", value: "Origin,Accept-Encoding")]
        if status == 401 {
            let challenge = "Bearer realm=\"https://accounts.google.com/\""
            fields.append(HTTP2Answer.Field(name: "www-authenticate", value: challenge))
        }
        return StandInAnswer(http: .json(status, body, fields), reason: errorCode ?? canonical)
    }

    /// The details, with FCM's own detail last.
    ///
    /// This order exposes clients that read only the first one and thus misinterpret the format.
    private var details: [JSONValue] {
        var details: [JSONValue] = []
        if !violations.isEmpty {
            details.append([
                "@type": "type.googleapis.com/google.rpc.BadRequest",
                "fieldViolations": .array(
                    violations.map { ["field": .string($0.field), "description": .string($0.description)] }
                ),
            ])
        }
        if let errorInfo {
            details.append([
                "@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": .string(errorInfo),
                "domain": "googleapis.com",
            ])
        }
        if let errorCode {
            details.append([
                "@type": "type.googleapis.com/google.firebase.fcm.v1.FcmError", "errorCode": .string(errorCode),
            ])
        }
        return details
    }

    /// Returns the error for a malformed body.
    static func malformed(_ violations: [FCMViolation]) -> FCMError {
        let message = violations.map(\.description).joined(separator: "\n")
        var error = FCMError(400, "INVALID_ARGUMENT", message)
        error.violations = violations
        return error
    }

    /// Returns the error for a message that breaks a rule.
    static func invalid(_ violations: [FCMViolation]) -> FCMError {
        var error = malformed(violations)
        error.errorCode = "INVALID_ARGUMENT"
        return error
    }

    static let tooBig = FCMError(400, "INVALID_ARGUMENT", "Message is too big")

    static let invalidToken: FCMError = {
        var error = FCMError(
            400,
            "INVALID_ARGUMENT",
            "The registration token is not a valid FCM registration token",
            errorCode: "INVALID_ARGUMENT"
        )
        error.violations = [FCMViolation(field: "message.token", description: "Invalid registration token")]
        return error
    }()

    static let unregistered = FCMError(404, "NOT_FOUND", "Requested entity was not found.", errorCode: "UNREGISTERED")

    static let senderMismatch = FCMError(403, "PERMISSION_DENIED", "SenderId mismatch", errorCode: "SENDER_ID_MISMATCH")

    static let noCredentials: FCMError = {
        var error = FCMError(
            401,
            "UNAUTHENTICATED",
            "Request is missing required authentication credential. " + expected
        )
        error.errorInfo = "CREDENTIALS_MISSING"
        return error
    }()

    /// Returns the error for an access token that has expired, or that was never issued.
    static func badCredentials(hasExpired: Bool) -> FCMError {
        var error = FCMError(401, "UNAUTHENTICATED", "Request had invalid authentication credentials. " + expected)
        error.errorInfo = hasExpired ? "ACCESS_TOKEN_EXPIRED" : "ACCESS_TOKEN_TYPE_UNSUPPORTED"
        return error
    }

    static func forbidden(projectID: String) -> FCMError {
        var error = FCMError(
            403,
            "PERMISSION_DENIED",
            "Permission 'cloudmessaging.messages.create' denied on resource "
                + "'//cloudresourcemanager.googleapis.com/projects/\(projectID)' (or it may not exist)."
        )
        error.errorInfo = "IAM_PERMISSION_DENIED"
        return error
    }

    private static let expected =
        "Expected OAuth 2 access token, login cookie or other valid authentication credential. "
        + "See https://developers.google.com/identity/sign-in/web/devconsole-project."

    /// FCM's own error codes with the canonical name of each.
    private static let canonicalNames = [
        "INVALID_ARGUMENT": "INVALID_ARGUMENT",
        "UNREGISTERED": "NOT_FOUND",
        "SENDER_ID_MISMATCH": "PERMISSION_DENIED",
        "QUOTA_EXCEEDED": "RESOURCE_EXHAUSTED",
        "UNAVAILABLE": "UNAVAILABLE",
        "INTERNAL": "INTERNAL",
        "THIRD_PARTY_AUTH_ERROR": "UNAUTHENTICATED",
        "APNS_AUTH_ERROR": "UNAUTHENTICATED",
        "UNSPECIFIED_ERROR": "UNKNOWN",
    ]

    /// Returns the error for a status if nothing else is known.
    private static func usual(_ status: Int) -> (canonical: String, errorCode: String?) {
        switch status {
        case 401: ("UNAUTHENTICATED", nil)
        case 403: ("PERMISSION_DENIED", nil)
        case 404: ("NOT_FOUND", nil)
        case 429: ("RESOURCE_EXHAUSTED", "QUOTA_EXCEEDED")
        case 500: ("INTERNAL", "INTERNAL")
        case 503: ("UNAVAILABLE", "UNAVAILABLE")
        case 501...: ("UNKNOWN", nil)
        default: ("INVALID_ARGUMENT", nil)
        }
    }

    /// Returns the answer that a fault requests.
    ///
    /// A gateway's errors are HTML pages; all others have FCM's form.
    ///
    /// If the reason is one of FCM's codes, the answer includes its detail; any other reason appears only as the
    /// canonical name.
    static func answer(to fault: SandboxFault.Answer) -> StandInAnswer {
        let isPage = fault.reason == nil && (fault.status < 400 || [413, 502, 504].contains(fault.status))
        guard !isPage else {
            let page = HTTP2Answer.html(fault.status, "Server Error")
            return StandInAnswer(http: page, reason: nil).with(retryAfter: fault.retryAfter)
        }
        var (canonical, errorCode) = usual(fault.status)
        if let reason = fault.reason {
            errorCode = canonicalNames[reason] == nil ? nil : reason
            canonical = canonicalNames[reason] ?? reason
        }
        let error = FCMError(fault.status, canonical, "The sandbox was told to send this.", errorCode: errorCode)
        return error.answer.with(retryAfter: fault.retryAfter)
    }
}

/// One error in one field of a request.
struct FCMViolation: Sendable, Equatable {
    /// A field such as `message.android.ttl`.
    let field: String
    let description: String
}
