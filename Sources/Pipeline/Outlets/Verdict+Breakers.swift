import Push

/// What breakers look at.
extension Verdict {
    /// The provider took the message: our keys are right.
    var isTaken: Bool {
        switch self {
        case .delivered, .accepted: true
        case .retry, .deviceGone, .configError, .payloadError, .unknown: false
        }
    }

    /// The provider took the message or knew its device, so it let us in; what is wrong with a message or a token's form
    /// may have been found by ourselves.
    var provesAccess: Bool {
        switch self {
        case .delivered, .accepted: true
        case .deviceGone(let reason, _): reason != .invalidToken
        case .retry, .configError, .payloadError, .unknown: false
        }
    }

    var isGone: Bool {
        if case .deviceGone = self { true } else { false }
    }

    /// How long the provider wants to hear nothing at all of an app.
    var providerRest: Duration? {
        switch self {
        case .retry(.quotaExceeded, let wait, .provider), .retry(.requestRate, let wait, .provider): wait
        default: nil
        }
    }
}
