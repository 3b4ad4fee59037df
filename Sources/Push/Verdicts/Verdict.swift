package import BellhopRules

/// The meaning of a provider's answer, or of a missing answer, for a delivery.
///
/// A provider's rejection is a value and not an error. A verdict contains no secrets: it may be logged, stored and
/// counted.
package enum Verdict: Hashable, Sendable {
    /// The provider accepted the message.
    ///
    /// This never proves that a user saw it.
    case delivered(providerMessageID: String?)

    /// The provider accepted the message and reports its result later; `ticket` identifies the result.
    case accepted(ticket: String)

    /// The message was not accepted, and a later attempt may succeed.
    ///
    /// `notBefore` counts from the answer and is at least the provider's minimum wait. A backoff may increase it, and
    /// jitter must not reduce it.
    case retry(VerdictReason, notBefore: Duration, scope: VerdictScope)

    /// The device's token is invalid; the device must be revoked and never tried again.
    ///
    /// `at` is the time since when, if the provider reports it: a token that was registered later stays valid. Without
    /// it, a token stays valid if it was registered after this message was claimed.
    case deviceGone(VerdictReason, at: Timestamp?)

    /// The credentials or settings are wrong for everything in the scope.
    ///
    /// No attempt is counted, and the breaker opens.
    case configError(VerdictReason, scope: VerdictScope)

    /// This message can never succeed.
    case payloadError(VerdictReason)

    /// The request may or may not have been processed.
    ///
    /// A repeat, if the policy allows one, has the same collapse key. `notBefore` has the same meaning as for a retry.
    case unknown(VerdictReason, notBefore: Duration)

    /// The seven kinds, as metrics name them.
    package enum Kind: String, CaseIterable, Hashable, Sendable {
        case delivered
        case accepted
        case retry
        case deviceGone = "device-gone"
        case configError = "config-error"
        case payloadError = "payload-error"
        case unknown
    }

    package var kind: Kind {
        switch self {
        case .delivered: .delivered
        case .accepted: .accepted
        case .retry: .retry
        case .deviceGone: .deviceGone
        case .configError: .configError
        case .payloadError: .payloadError
        case .unknown: .unknown
        }
    }

    /// The reason as one stable word for the ledger and metrics; `nil` for a success.
    package var reason: VerdictReason? {
        switch self {
        case .delivered, .accepted: nil
        case .retry(let reason, _, _), .deviceGone(let reason, _), .configError(let reason, _),
            .payloadError(let reason), .unknown(let reason, _):
            reason
        }
    }

    /// Whether a repeat cannot change the verdict.
    package var isFinal: Bool {
        switch self {
        case .delivered, .deviceGone, .payloadError: true
        case .accepted, .retry, .configError, .unknown: false
        }
    }

    /// Whether it counts towards the delivery's retry limit.
    ///
    /// A message that was not sent because the process is closing does not count, and neither does a configuration
    /// error.
    package var burnsAttempt: Bool {
        switch self {
        case .configError, .retry(.cancelled, _, _), .retry(.closed, _, _): false
        case .delivered, .accepted, .retry, .deviceGone, .payloadError, .unknown: true
        }
    }

    /// Whether the provider has the message, according to the known facts.
    package var mayBeTaken: Bool {
        switch self {
        case .delivered, .accepted, .unknown: true
        case .retry, .deviceGone, .configError, .payloadError: false
        }
    }

    /// The minimum wait before another attempt; `nil` if there is none, or if a breaker decides.
    package var notBefore: Duration? {
        switch self {
        case .retry(_, let wait, _), .unknown(_, let wait): wait
        case .delivered, .accepted, .deviceGone, .configError, .payloadError: nil
        }
    }

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

/// The range of messages that a verdict concerns.
package enum VerdictScope: Hashable, Sendable {
    /// The message alone.
    case message
    /// All messages to the same device.
    case device
    /// All messages to devices of this platform, of this app and provider.
    case platform
    /// All messages of this app through this provider.
    case provider
}
