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
