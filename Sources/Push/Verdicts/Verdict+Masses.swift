extension Verdict {
    /// The verdict if many users receive the same answer, which is then a configuration error; `nil` if the answer
    /// concerns only its own message.
    ///
    /// Some answers have two possible causes: a few foreign devices or invalid mailboxes, or an app that signs in
    /// wrongly or a relay that rejects the sender. A sender has no information about users, so it gives each message
    /// the verdict of its answer alone. Code with this information compares the answers.
    package var inMasses: Verdict? {
        switch self {
        case .deviceGone(.senderIDMismatch, _): .configError(.senderIDMismatch, scope: .provider)
        case .deviceGone(.badDeviceToken, _): .configError(.badDeviceToken, scope: .provider)
        case .deviceGone(.deviceTokenNotForTopic, _): .configError(.deviceTokenNotForTopic, scope: .provider)
        // An untrusted client has chosen the endpoint, so the answer concerns no other endpoint.
        case .deviceGone(.vapidMismatch, _): .configError(.vapidMismatch, scope: .device)
        case .payloadError(.mailboxUnknown), .payloadError(.refusedByPolicy):
            .configError(.senderRefused, scope: .provider)
        case .delivered, .accepted, .retry, .deviceGone, .configError, .payloadError, .unknown: nil
        }
    }

    /// The verdict if the same answer concerns only its own recipient; `nil` if a single recipient cannot cause it.
    ///
    /// An Expo token may belong to a foreign project, which has its own permissions and credentials. A mailbox may have
    /// a filter whose replies equal a relay's replies about senders.
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
