package import ServiceRuntime

/// What opens the provider's door for about an hour; a secret.
package struct AccessToken: Hashable, Sendable {
    package let secret: Secret
    /// From here on a new one should be fetched, while this one is still good.
    let refreshAt: Instant
    /// From here on it must not be used any more.
    let endsAt: Instant

    /// The share of its life after which a token is replaced.
    private static let freshShare = 0.85

    /// Ends a little early, so that a token does not expire on its way: a twentieth of its life, ten seconds at most.
    init(_ text: String, obtainedAt: Instant, lifetime: Duration) {
        secret = Secret(text)
        refreshAt = obtainedAt + lifetime * Self.freshShare
        endsAt = obtainedAt + lifetime - min(lifetime / 20, .seconds(10))
    }

    /// The value of the header `authorization`.
    package var authorization: String { "Bearer " + secret.revealed }
}

/// Why there is no access token, and what that means for whatever wanted to be sent.
package struct TokenRefusal: Error, Hashable, Sendable {
    package enum Kind: Hashable, Sendable {
        /// The token endpoint is away or busy.
        case unavailable
        /// It does not accept our account, or is not one.
        case refused
        /// A token that was fresh is not accepted where it is used.
        case uselessToken
    }

    package let kind: Kind

    /// For the log: what came back and what to do.
    let text: String

    /// The shortest wait before the endpoint is asked again; nil for our own pace.
    var retryAfter: Duration?
}

/// A refusal together with how long it lasts: what a sender makes its verdicts of.
package struct StandingRefusal: Error, Hashable, Sendable {
    package let refusal: TokenRefusal

    /// Until the endpoint is asked again.
    package let wait: Duration

    /// The verdict on each message that cannot go out.
    package func verdict(shortestWait: Duration) -> Verdict {
        switch refusal.kind {
        case .unavailable: .retry(.tokenUnavailable, notBefore: max(wait, shortestWait), scope: .provider)
        case .refused: .configError(.tokenRefused, scope: .provider)
        case .uselessToken: .configError(.unauthenticated, scope: .provider)
        }
    }
}
