package import BellhopRules
import Cryptography
import Synchronization

/// A cache of recently accepted tokens.
///
/// A client sends the same token with every call, and the check of its signature is the most expensive part of most
/// calls.
///
/// An entry covers the whole token, byte for byte, and the key set that checked it. A new key set clears the cache. The
/// expiry is checked at each call.
package final class TokenCache: Sendable {
    private struct State {
        var keys: TrustedIssuers.Mark?
        /// Recently accepted users, by the hash of the token.
        var recent: [Digest: AuthenticatedUser] = [:]
        /// The previous generation.
        ///
        /// An entry that is used again moves to the recent one.
        var older: [Digest: AuthenticatedUser] = [:]
    }

    private let capacity: Int
    private let state = Mutex(State())

    /// Creates a cache.
    ///
    /// `capacity` limits each of two generations, with about 200 bytes per token.
    package init(capacity: Int = 20_000) { self.capacity = max(1, capacity) }

    /// Returns the user of a token, or the reason why the token is rejected.
    ///
    /// A token that is not cached is checked.
    package func check(
        _ token: String,
        with issuers: TrustedIssuers,
        at now: Timestamp
    ) -> Result<AuthenticatedUser, TokenError> {
        let hash = SHA256.digest(of: Array(token.utf8))
        if let known = find(hash, of: issuers.mark) {
            return now < known.until ? .success(known) : .failure(.expired)
        }
        let found = issuers.check(token, at: now)
        if case .success(let signedIn) = found { keep(signedIn, hash, of: issuers.mark) }
        return found
    }

    private func find(_ hash: Digest, of keys: TrustedIssuers.Mark) -> AuthenticatedUser? {
        state.withLock { state in
            guard state.keys === keys else { return nil }
            if let known = state.recent[hash] { return known }
            guard let known = state.older[hash] else { return nil }
            add(known, hash, to: &state)
            return known
        }
    }

    private func keep(_ signedIn: AuthenticatedUser, _ hash: Digest, of keys: TrustedIssuers.Mark) {
        state.withLock { state in
            if state.keys !== keys { state = State(keys: keys) }
            add(signedIn, hash, to: &state)
        }
    }

    private func add(_ signedIn: AuthenticatedUser, _ hash: Digest, to state: inout State) {
        if state.recent.count >= capacity {
            state.older = state.recent
            state.recent = [:]
        }
        state.recent[hash] = signedIn
    }

    /// Whether a token is cached, for whichever keys.
    package func contains(_ token: String) -> Bool {
        let hash = SHA256.digest(of: Array(token.utf8))
        return state.withLock { $0.recent[hash] != nil || $0.older[hash] != nil }
    }

    /// The number of cached tokens.
    package var count: Int { state.withLock { $0.recent.count + $0.older.count } }
}
