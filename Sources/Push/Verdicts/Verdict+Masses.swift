extension Verdict {
    /// What the same answer means where many people get it: a fault of ours; nil where it is about its own message,
    /// whatever others hear.
    ///
    /// Some answers do not tell a few foreign devices or dead mailboxes from an app that signs in as the wrong one, or
    /// from a relay that dislikes the sender. A sender knows no people and so gives each message what its answer means
    /// alone; whoever knows them puts the answers side by side.
    package var inMasses: Verdict? {
        switch self {
        case .deviceGone(.senderIDMismatch, _): .configError(.senderIDMismatch, scope: .provider)
        case .deviceGone(.badDeviceToken, _): .configError(.badDeviceToken, scope: .provider)
        case .deviceGone(.deviceTokenNotForTopic, _): .configError(.deviceTokenNotForTopic, scope: .provider)
        // A stranger has chosen the endpoint: it speaks for no other.
        case .deviceGone(.vapidMismatch, _): .configError(.vapidMismatch, scope: .device)
        case .payloadError(.mailboxUnknown), .payloadError(.refusedByPolicy):
            .configError(.senderRefused, scope: .provider)
        case .delivered, .accepted, .retry, .deviceGone, .configError, .payloadError, .unknown: nil
        }
    }

    /// The same answer as one about its own recipient; nil where no single recipient brings it about.
    ///
    /// An Expo token may be of somebody else's project, which has its own word on who may send to it and its own keys; a
    /// mailbox may have a filter in front of it that says what relays say of senders.
    package var ofOneRecipient: Verdict? {
        switch self {
        case .configError(let reason, .provider), .configError(let reason, .platform):
            switch reason {
            case .notAuthorized, .mismatchedSender, .invalidCredentials, .developerError, .refusedByPolicy:
                .configError(reason, scope: .device)
            default: nil
            }
        case .delivered, .accepted, .retry, .deviceGone, .configError, .payloadError, .unknown: nil
        }
    }
}
