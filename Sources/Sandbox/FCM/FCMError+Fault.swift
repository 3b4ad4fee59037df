extension FCMError {
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
    static func answer(to fault: SandboxFault.Answer) -> ProviderAnswer {
        let isPage = fault.reason == nil && (fault.status < 400 || [413, 502, 504].contains(fault.status))
        guard !isPage else {
            let page = HTTP2Answer.html(fault.status, "Server Error")
            return ProviderAnswer(http: page, reason: nil).with(retryAfter: fault.retryAfter)
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
