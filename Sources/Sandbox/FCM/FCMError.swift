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
    var answer: ProviderAnswer {
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
        return ProviderAnswer(http: .json(status, body, fields), reason: errorCode ?? canonical)
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
}

extension FCMError {
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
}

/// One error in one field of a request.
struct FCMViolation: Sendable, Equatable {
    /// A field such as `message.android.ttl`.
    let field: String
    let description: String
}
