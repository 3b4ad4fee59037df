import ServiceRuntime

/// What is known about a key's provider token, and what to do when one is wanted; pure.
///
/// Apple wants a token replaced within the hour, and not within 20 minutes.
struct ProviderTokenState {
    enum Step: Equatable {
        case use(ProviderToken)
        /// Sign a fresh one, and `hold` it.
        case sign
        case refuse(VerdictReason)
    }

    /// From this age on a token is replaced, ten minutes before Apple refuses it.
    static let longestUse = Duration.seconds(50 * 60)
    /// A younger token is not replaced, and after "too many updates" everything rests for as long.
    static let shortestUse = Duration.seconds(20 * 60)
    /// A token from the future is one of a clock that was set back.
    private static let clockSkew = Duration.seconds(60)

    private var held: ProviderToken?
    private var pausedUntil: Instant?

    /// A token is wanted.
    func want(now: Instant) -> Step {
        if isPaused(now) { return .refuse(.tooManyProviderTokenUpdates) }
        guard let held, (.zero - Self.clockSkew..<Self.longestUse).contains(now - held.issuedAt) else { return .sign }
        return .use(held)
    }

    /// APNs calls `stale` too old.
    ///
    /// Whoever comes late gets what another has signed meanwhile. Where ours is young, a fresh one would be no better:
    /// it is a clock that is wrong.
    func wantAnother(than stale: ProviderToken, now: Instant) -> Step {
        if isPaused(now) { return .refuse(.tooManyProviderTokenUpdates) }
        guard let held else { return .sign }
        guard held == stale else { return .use(held) }
        return now - held.issuedAt >= Self.shortestUse ? .sign : .refuse(.expiredProviderToken)
    }

    mutating func hold(_ token: ProviderToken) {
        held = token
    }

    /// APNs says that tokens change too often: nothing goes out for a while, and the token stays.
    mutating func pause(now: Instant) {
        pausedUntil = now + Self.shortestUse
    }

    /// A pause that is longer than any is one of a clock that was set back.
    private func isPaused(_ now: Instant) -> Bool {
        guard let pausedUntil else { return false }
        return now < pausedUntil && pausedUntil - now <= Self.shortestUse
    }
}
