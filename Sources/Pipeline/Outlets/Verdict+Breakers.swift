import Push

extension VerdictReason {
    /// What is wrong was registered so; no provider was asked.
    fileprivate var isOfRegistration: Bool { self == .endpointRefused || self == .subscriptionUnusable }
}

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
        case .deviceGone(let reason, _): reason != .invalidToken && !reason.isOfRegistration
        case .retry, .configError, .payloadError, .unknown: false
        }
    }

    /// The provider calls the device dead.
    ///
    /// A registration that can reach no device was found by ourselves: anybody can make as many of them as they like, and
    /// they say nothing about our keys.
    var isGone: Bool {
        guard case .deviceGone(let reason, _) = self else { return false }
        return !reason.isOfRegistration
    }

    /// How long the provider wants to hear nothing at all of an app.
    var providerRest: Duration? {
        switch self {
        case .retry(.quotaExceeded, let wait, .provider), .retry(.requestRate, let wait, .provider): wait
        default: nil
        }
    }
}
