import Push

extension VerdictReason {
    /// Whether the registration itself is invalid, so that no request to the provider was made.
    fileprivate var isOfRegistration: Bool { self == .endpointRefused || self == .subscriptionUnusable }
}

/// The facts about a verdict that breakers evaluate.
extension Verdict {
    /// Whether the provider accepted the message, which proves that our credentials are right.
    var isTaken: Bool {
        switch self {
        case .delivered, .accepted: true
        case .retry, .deviceGone, .configError, .payloadError, .unknown: false
        }
    }

    /// The reason, if our credentials or settings are rejected for more than this message; otherwise `nil`.
    var refusal: VerdictReason? {
        switch self {
        case .configError(let reason, .provider), .configError(let reason, .platform): reason
        default: nil
        }
    }

    /// Whether the provider accepted the message or recognised its device, so that our credentials are right.
    ///
    /// Errors in a message or in a token's format may have been found locally.
    var provesAccess: Bool {
        switch self {
        case .delivered, .accepted: true
        case .deviceGone(let reason, _): reason != .invalidToken && !reason.isOfRegistration
        case .retry, .configError, .payloadError, .unknown: false
        }
    }

    /// Whether the provider reports the device as gone.
    ///
    /// A registration that can reach no device is detected locally. Anybody can create any number of them. They are
    /// not evidence about our credentials.
    var isGone: Bool {
        guard case .deviceGone(let reason, _) = self else { return false }
        return !reason.isOfRegistration
    }

    /// The pause that the provider requested for all messages of an app.
    var providerRest: Duration? {
        switch self {
        case .retry(.quotaExceeded, let wait, .provider), .retry(.requestRate, let wait, .provider): wait
        default: nil
        }
    }
}
