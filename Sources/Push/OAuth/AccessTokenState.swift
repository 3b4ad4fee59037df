import ServiceRuntime

/// What is known about an account's access token, and what to do when one is wanted; pure.
///
/// A refresh is in flight at most once. After a failure the endpoint is left alone for a while, however many ask:
/// 2 s, 4 s, … 60 s (jittered) where it was away, 60 s where it refused, and at least as long as it asked for itself.
struct AccessTokenState {
    /// What whoever wants a token does next.
    enum Step {
        case use(AccessToken)
        /// Use this one, and start the refresh that it is time for.
        case useAndRefresh(AccessToken)
        /// Start a refresh and wait for it.
        case refresh
        /// A refresh is under way: wait for it.
        case join
        case refuse(TokenRefusal, wait: Duration)
    }

    /// The pause between two tokens that were asked for because the one before was not accepted.
    static let replacementPause = Duration.seconds(60)

    private static let refusedPause = Duration.seconds(60)

    private var held: AccessToken?
    private var isRefreshing = false
    private var pausedUntil = Instant.distantPast
    private var refusal: TokenRefusal?
    private var replacedAt: Instant?
    private var backoff = Backoff(base: .seconds(2), cap: .seconds(60))

    /// A token is wanted.
    mutating func want(now: Instant) -> Step {
        guard let held, now < held.endsAt else { return fetch(now) }
        guard now >= held.refreshAt, !isRefreshing, !isPaused(now) else { return .use(held) }
        isRefreshing = true
        return .useAndRefresh(held)
    }

    /// `stale` was not accepted although it should be good; a better one is wanted.
    ///
    /// Whoever comes late gets what others have fetched meanwhile.
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

    /// A refresh has ended.
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

    /// How long the endpoint is still left alone.
    func pause(now: Instant) -> Duration {
        isPaused(now) ? pausedUntil - now : .zero
    }

    private mutating func fetch(_ now: Instant) -> Step {
        if isRefreshing { return .join }
        if let refusal, isPaused(now) { return .refuse(refusal, wait: pause(now: now)) }
        isRefreshing = true
        return .refresh
    }

    /// A pause longer than six hours is one of a clock that was set back.
    private func isPaused(_ now: Instant) -> Bool {
        refusal != nil && now < pausedUntil && pausedUntil - now <= .seconds(6 * 3600)
    }
}
