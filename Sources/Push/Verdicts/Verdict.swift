package import BellhopRules

/// What a provider's answer, or the lack of one, means for a delivery.
///
/// A provider's "no" is a value and not an error. Nothing in a verdict is secret: it may be logged, stored and counted.
package enum Verdict: Hashable, Sendable {
    /// The provider took it over.
    ///
    /// That is acceptance, never proof that somebody saw it.
    case delivered(providerMessageID: String?)

    /// The provider took it and answers later; `ticket` is what to ask with.
    case accepted(ticket: String)

    /// It was not taken, and another time it may be.
    ///
    /// `notBefore` counts from the answer and is the provider's shortest wait at least: a backoff may add to it, jitter
    /// must not go below it.
    case retry(VerdictReason, notBefore: Duration, scope: VerdictScope)

    /// The device's token is dead; it must be revoked, and never tried again.
    ///
    /// `at` is since when, where the provider says so: a token that was registered later lives. Without it, a token
    /// lives if it was registered after this message was claimed.
    case deviceGone(VerdictReason, at: Timestamp?)

    /// Our keys or settings are wrong, for everything in the scope: no attempt is burned, the breaker opens.
    case configError(VerdictReason, scope: VerdictScope)

    /// This message can never succeed.
    case payloadError(VerdictReason)

    /// The request may have been processed or not; a repeat, where policy allows one, carries the same collapse key.
    ///
    /// `notBefore` as for a retry.
    case unknown(VerdictReason, notBefore: Duration)
}

extension Verdict {
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

    /// Why, in one word that the ledger and a metric can keep; nil where it went well.
    package var reason: VerdictReason? {
        switch self {
        case .delivered, .accepted: nil
        case .retry(let reason, _, _), .deviceGone(let reason, _), .configError(let reason, _),
            .payloadError(let reason), .unknown(let reason, _):
            reason
        }
    }

    /// Whether nothing that is sent again could change it.
    package var isFinal: Bool {
        switch self {
        case .delivered, .deviceGone, .payloadError: true
        case .accepted, .retry, .configError, .unknown: false
        }
    }

    /// Whether it counts against the delivery's attempts.
    ///
    /// What never left the house because the house is closing does not, nor does what is our own fault for everybody.
    package var burnsAttempt: Bool {
        switch self {
        case .configError, .retry(.cancelled, _, _), .retry(.closed, _, _): false
        case .delivered, .accepted, .retry, .deviceGone, .payloadError, .unknown: true
        }
    }

    /// Whether the provider has the message, as far as anybody can tell.
    package var mayBeTaken: Bool {
        switch self {
        case .delivered, .accepted, .unknown: true
        case .retry, .deviceGone, .configError, .payloadError: false
        }
    }

    /// The shortest wait before another attempt; nil where there is to be none, or where a breaker decides.
    package var notBefore: Duration? {
        switch self {
        case .retry(_, let wait, _), .unknown(_, let wait): wait
        case .delivered, .accepted, .deviceGone, .configError, .payloadError: nil
        }
    }
}

/// How much a verdict says about messages other than its own.
package enum VerdictScope: Hashable, Sendable {
    /// Nothing.
    case message
    /// The same holds for whatever goes to the same device.
    case device
    /// The same holds for all devices of this platform, of this app and provider.
    case platform
    /// The same holds for whatever this app sends through this provider.
    case provider
}
