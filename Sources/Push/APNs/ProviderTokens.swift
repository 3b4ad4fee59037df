import BellhopRules
import Cryptography
package import ServiceRuntime
import Synchronization

/// The provider tokens of one key, shared by all senders of the process.
///
/// Signing takes no longer than a short wait, so it happens under the lock. Of any number of concurrent callers, only
/// one signs.
package final class ProviderTokens: Sendable {
    private let key: APNsKey
    private let time: any TimeSource
    private let logger: Logger
    private let state = Mutex(ProviderTokenState())

    package init(_ key: APNsKey, time: any TimeSource = SystemTime(), logger: Logger) {
        self.key = key
        self.time = time
        self.logger = logger
    }

    /// Returns a token, or the reason why there is none.
    package func token() -> Result<ProviderToken, ProviderTokenRefusal> {
        perform { $0.want(now: $1) }
    }

    /// Returns a replacement for a token that APNs reports as expired, or the reason why there is none.
    package func token(insteadOf stale: ProviderToken) -> Result<ProviderToken, ProviderTokenRefusal> {
        let result = perform { $0.wantAnother(than: stale, now: $1) }
        if case .failure(let refusal) = result, refusal.reason == .expiredProviderToken {
            logger.error("APNs rejects a new provider token as expired: correct the system clock", fields)
        }
        return result
    }

    /// Pauses all sends after APNs has reported that tokens change too often.
    package func pause() {
        let now = time.now()
        state.withLock { $0.pause(now: now) }
        let advice = "check that no other program signs in with this team's keys"
        logger.error(
            "APNs says that provider tokens change too often: \(advice)",
            fields.merging(["pause": .span(ProviderTokenState.shortestUse)])
        )
    }

    private func perform(
        _ decide: (ProviderTokenState, Instant) -> ProviderTokenState.Step
    ) -> Result<ProviderToken, ProviderTokenRefusal> {
        let now = time.now()
        return state.withLock { state in
            switch decide(state, now) {
            case .use(let token): return .success(token)
            case .refuse(let reason): return .failure(ProviderTokenRefusal(reason: reason))
            case .sign:
                do {
                    let token = try ProviderToken.sign(key, now: now)
                    state.hold(token)
                    return .success(token)
                } catch {
                    logger.error("no provider token could be signed: \(error)", fields)
                    return .failure(ProviderTokenRefusal(reason: .invalidProviderToken))
                }
            }
        }
    }

    private var fields: LogFields { ["key": .text(key.keyID), "team": .text(key.teamID)] }
}

/// A token for requests to APNs, valid for at most an hour; a secret.
package struct ProviderToken: Hashable, Sendable {
    package let secret: Secret
    let issuedAt: Instant

    /// The value of the header `authorization`.
    package var authorization: String { "bearer " + secret.revealed }

    /// Signs a new token, issued in the whole second that contains `now`.
    static func sign(_ key: APNsKey, now: Instant) throws(CryptographyError) -> ProviderToken {
        let seconds = now.microseconds / 1_000_000
        let header: JSONObject = ["alg": "ES256", "kid": .string(key.keyID)]
        let claims: JSONObject = ["iss": .string(key.teamID), "iat": .number(JSONNumber(seconds))]
        let text = try JSONWebToken.sign(
            header: JSONWriter.canonicalBytes(of: .object(header)),
            claims: JSONWriter.canonicalBytes(of: .object(claims)),
            algorithm: .es256,
            key: key.key
        )
        return ProviderToken(secret: Secret(text), issuedAt: Instant(seconds: seconds))
    }
}

/// The reason why there is no token; it becomes the verdict on every message that needs one.
package struct ProviderTokenRefusal: Error, Hashable, Sendable {
    package let reason: VerdictReason

    package var verdict: Verdict { .configError(reason, scope: .provider) }
}

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

    mutating func hold(_ token: ProviderToken) { held = token }

    /// Pauses all sends after APNs has reported that tokens change too often; the token stays.
    mutating func pause(now: Instant) { pausedUntil = now + Self.shortestUse }

    /// Returns whether sends pause.
    ///
    /// A pause that is longer than the maximum comes from a clock that was set back.
    private func isPaused(_ now: Instant) -> Bool {
        guard let pausedUntil else { return false }
        return now < pausedUntil && pausedUntil - now <= Self.shortestUse
    }
}
