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

    /// The provider looked at the message itself, so it let us in.
    var provesAccess: Bool {
        switch self {
        case .delivered, .accepted, .payloadError, .deviceGone: true
        case .retry, .configError, .unknown: false
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

    /// Something in it may hold for other messages too.
    var concernsOthers: Bool {
        switch self {
        case .configError: true
        case .retry: providerRest != nil
        case .delivered, .accepted, .deviceGone, .payloadError, .unknown: false
        }
    }
}
