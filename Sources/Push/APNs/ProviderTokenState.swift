import ServiceRuntime

/// The state of a key's provider token, and the next step if one is needed; without side effects.
///
/// Apple requires that a token is replaced within an hour, and not within 20 minutes.
struct ProviderTokenState {
    enum Step: Equatable {
        case use(ProviderToken)
        /// Sign a new token and pass it to `hold`.
        case sign
        case refuse(VerdictReason)
    }

    /// The age from which a token is replaced, ten minutes before Apple rejects it.
    static let longestUse = Duration.seconds(50 * 60)
    /// The minimum age of a token before its replacement.
    ///
    /// After "too many updates", all sends pause for the same time.
    static let shortestUse = Duration.seconds(20 * 60)
    /// The tolerance for tokens from the future, which occur after a clock was set back.
    private static let clockSkew = Duration.seconds(60)

    private var held: ProviderToken?
    private var pausedUntil: Instant?

    /// Returns the next step if a token is needed.
    func want(now: Instant) -> Step {
        if isPaused(now) { return .refuse(.tooManyProviderTokenUpdates) }
        guard let held, (.zero - Self.clockSkew..<Self.longestUse).contains(now - held.issuedAt) else { return .sign }
        return .use(held)
    }

    /// Returns the next step after APNs has rejected `stale` as too old.
    ///
    /// A late caller receives the token that another caller has signed meanwhile. If Bellhop's token is young, a new
    /// one would not help, because the cause is a wrong clock.
    func wantAnother(than stale: ProviderToken, now: Instant) -> Step {
        if isPaused(now) { return .refuse(.tooManyProviderTokenUpdates) }
        guard let held else { return .sign }
        guard held == stale else { return .use(held) }
        return now - held.issuedAt >= Self.shortestUse ? .sign : .refuse(.expiredProviderToken)
    }

    mutating func hold(_ token: ProviderToken) {
        held = token
    }

    /// Pauses all sends after APNs has reported that tokens change too often; the token stays.
    mutating func pause(now: Instant) {
        pausedUntil = now + Self.shortestUse
    }

    /// Returns whether sends pause.
    ///
    /// A pause that is longer than the maximum comes from a clock that was set back.
    private func isPaused(_ now: Instant) -> Bool {
        guard let pausedUntil else { return false }
        return now < pausedUntil && pausedUntil - now <= Self.shortestUse
    }
}
