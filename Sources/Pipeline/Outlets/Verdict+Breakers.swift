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

    /// A sender's guess that so many devices of another's cannot be the devices' fault.
    var isMismatch: Bool {
        switch self {
        case .configError(.senderIDMismatch, .provider), .configError(.badDeviceToken, .provider),
            .configError(.deviceTokenNotForTopic, .provider):
            true
        default: false
        }
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
