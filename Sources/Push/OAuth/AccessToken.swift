package import ServiceRuntime

/// A token for requests to the provider, valid for about an hour; a secret.
package struct AccessToken: Hashable, Sendable {
    package let secret: Secret
    /// The instant from which a new token should be fetched, while this one is still valid.
    let refreshAt: Instant
    /// The instant from which the token must not be used.
    let endsAt: Instant

    /// The share of its lifetime after which a token is replaced.
    private static let freshShare = 0.85

    /// Creates a token that ends a little early, so that it does not expire during a request.
    ///
    /// The margin is a twentieth of its lifetime, at most ten seconds.
    init(_ text: String, obtainedAt: Instant, lifetime: Duration) {
        secret = Secret(text)
        refreshAt = obtainedAt + lifetime * Self.freshShare
        endsAt = obtainedAt + lifetime - min(lifetime / 20, .seconds(10))
    }

    /// The value of the header `authorization`.
    package var authorization: String { "Bearer " + secret.revealed }
}

/// The reason why there is no access token, which decides the verdict on waiting messages.
package struct TokenRefusal: Error, Hashable, Sendable {
    package enum Kind: Hashable, Sendable {
        /// The token endpoint is unavailable or busy.
        case unavailable
        /// The token endpoint rejects the account, or another system answers.
        case refused
        /// The service rejects a new token.
        case uselessToken
    }

    package let kind: Kind

    /// The text for the log: the result and the advice.
    let text: String

    /// The minimum wait before the next request to the endpoint; `nil` for the default.
    var retryAfter: Duration?
}

/// A refusal and its remaining duration, from which a sender creates its verdicts.
package struct StandingRefusal: Error, Hashable, Sendable {
    package let refusal: TokenRefusal

    /// The time until the next request to the endpoint.
    package let wait: Duration

    /// Returns the verdict on each message that cannot be sent.
    package func verdict(shortestWait: Duration) -> Verdict {
        switch refusal.kind {
        case .unavailable: .retry(.tokenUnavailable, notBefore: max(wait, shortestWait), scope: .provider)
        case .refused: .configError(.tokenRefused, scope: .provider)
        case .uselessToken: .configError(.unauthenticated, scope: .provider)
        }
    }
}
