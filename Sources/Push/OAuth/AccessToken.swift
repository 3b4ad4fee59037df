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

/// The state of an account's access token, and the next step if one is needed; without side effects.
///
/// At most one refresh is in flight. After a failure, no requests are made for a while, regardless of the number of
/// callers. The pause is 2 s, 4 s, … 60 s (jittered) if the endpoint was unavailable, 60 s if it refused, and at least
/// the time that it asked for.
struct AccessTokenState {
    /// The next step for a caller that needs a token.
    enum Step {
        case use(AccessToken)
        /// Use this token, and start the refresh that is due.
        case useAndRefresh(AccessToken)
        /// Start a refresh and wait for it.
        case refresh
        /// Wait for the refresh in flight.
        case join
        case refuse(TokenRefusal, wait: Duration)
    }

    /// The minimum time between two requests for a replacement of a rejected token.
    static let replacementPause = Duration.seconds(60)

    private static let refusedPause = Duration.seconds(60)

    private var held: AccessToken?
    private var isRefreshing = false
    private var pausedUntil = Instant.distantPast
    private var refusal: TokenRefusal?
    private var replacedAt: Instant?
    private var backoff = Backoff(base: .seconds(2), cap: .seconds(60))

    /// Returns the next step if a token is needed.
    mutating func want(now: Instant) -> Step {
        guard let held, now < held.endsAt else { return fetch(now) }
        guard now >= held.refreshAt, !isRefreshing, !isPaused(now) else { return .use(held) }
        isRefreshing = true
        return .useAndRefresh(held)
    }

    /// Returns the next step after `stale` was rejected although it should be valid.
    ///
    /// A late caller receives the token that others have fetched meanwhile.
    mutating func wantAnother(than stale: AccessToken, now: Instant) -> Step {
        if let held, held != stale, now < held.endsAt { return .use(held) }
        if isRefreshing { return .join }
        if let replacedAt, now >= replacedAt, now < replacedAt + Self.replacementPause {
            let text = "a fresh access token is not accepted either: check that it is for the right project"
            return .refuse(
                TokenRefusal(kind: .uselessToken, text: text),
                wait: replacedAt + Self.replacementPause - now
            )
        }
        held = nil
        let step = fetch(now)
        if case .refresh = step { replacedAt = now }
        return step
    }

    /// Records the end of a refresh.
    mutating func settle(
        _ result: Result<AccessToken, TokenRefusal>,
        now: Instant,
        using generator: inout some RandomNumberGenerator
    ) {
        isRefreshing = false
        switch result {
        case .success(let token):
            held = token
            refusal = nil
            backoff.reset()
        case .failure(let refusal):
            self.refusal = refusal
            let pause = refusal.kind == .unavailable ? backoff.next(using: &generator) : Self.refusedPause
            pausedUntil = now + max(pause, refusal.retryAfter ?? .zero)
        }
    }

    /// Returns the remaining pause before the next request to the endpoint.
    func pause(now: Instant) -> Duration { isPaused(now) ? pausedUntil - now : .zero }

    private mutating func fetch(_ now: Instant) -> Step {
        if isRefreshing { return .join }
        if let refusal, isPaused(now) { return .refuse(refusal, wait: pause(now: now)) }
        isRefreshing = true
        return .refresh
    }

    /// Returns whether requests pause.
    ///
    /// A pause longer than six hours comes from a clock that was set back.
    private func isPaused(_ now: Instant) -> Bool {
        refusal != nil && now < pausedUntil && pausedUntil - now <= .seconds(6 * 3600)
    }
}
