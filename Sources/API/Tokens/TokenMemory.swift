package import BellhopRules
import Cryptography
import Synchronization

/// The tokens that were found good lately: a client sends the same one with every call, and checking its signature is the
/// dearest thing about most calls.
///
/// What is kept stands for the whole token, byte for byte, and for the key set that it was checked with: another set
/// forgets all of it. When a token ends is asked anew at each call.
package final class TokenMemory: Sendable {
    private struct State {
        var keys: TokenKeySet.Mark?
        /// Who was found lately, by the hash of the token.
        var recent: [Digest: SignedIn] = [:]
        /// Those of before; whoever comes again moves on.
        var older: [Digest: SignedIn] = [:]
    }

    private let capacity: Int
    private let state = Mutex(State())

    /// `capacity` bounds each of two generations: about 200 bytes a token.
    package init(capacity: Int = 20_000) {
        self.capacity = max(1, capacity)
    }

    /// Whom a token speaks for, or why it speaks for nobody; what is not remembered is checked.
    package func check(
        _ token: String,
        with keys: TokenKeySet,
        at now: Timestamp,
        by verifier: TokenVerifier
    ) -> Result<SignedIn, TokenFault> {
        let hash = SHA256.digest(of: Array(token.utf8))
        if let known = find(hash, of: keys.mark) {
            return now < known.until ? .success(known) : .failure(.expired)
        }
        let found = verifier.check(token, with: keys, at: now)
        if case .success(let signedIn) = found { keep(signedIn, hash, of: keys.mark) }
        return found
    }

    private func find(_ hash: Digest, of keys: TokenKeySet.Mark) -> SignedIn? {
        state.withLock { state in
            guard state.keys === keys else { return nil }
            if let known = state.recent[hash] { return known }
            guard let known = state.older[hash] else { return nil }
            add(known, hash, to: &state)
            return known
        }
    }

    private func keep(_ signedIn: SignedIn, _ hash: Digest, of keys: TokenKeySet.Mark) {
        state.withLock { state in
            if state.keys !== keys { state = State(keys: keys) }
            add(signedIn, hash, to: &state)
        }
    }

    private func add(_ signedIn: SignedIn, _ hash: Digest, to state: inout State) {
        if state.recent.count >= capacity {
            state.older = state.recent
            state.recent = [:]
        }
        state.recent[hash] = signedIn
    }

    /// How many it knows.
    package var count: Int { state.withLock { $0.recent.count + $0.older.count } }
}
