import BellhopRules
package import Cryptography
package import ServiceRuntime
import Synchronization

/// The signed tokens with which an app signs in at push services, one for each key and origin, created on first use.
///
/// A token is valid for twelve hours and used for six, so that a clock that is off by hours does no harm. Push services
/// discourage new tokens more often than hourly, so a rejected token is not replaced within its first hour.
package final class VAPIDTokens: Sendable {
    /// The key and the origin for which a token is valid.
    private struct Use: Hashable {
        let key: String
        let origin: String
    }

    private struct Word {
        /// The whole value of the header.
        let authorization: String
        let madeAt: Instant
    }

    static let lifetime = Duration.seconds(12 * 3600)
    private static let used = Duration.seconds(6 * 3600)
    private static let replaceable = Duration.seconds(3600)

    /// The maximum number of stored tokens.
    ///
    /// Untrusted clients choose endpoints, and some services have a host name for each of their machines.
    private static let most = 1024

    private let subject: String
    private let words = Mutex<[Use: Word]>([:])
    /// The ids of the keys with which a push service has accepted a message.
    private let proven = Mutex<Set<String>>([])

    /// Creates the tokens; `subject` is a `mailto:` or `https:` URL at which push services can contact the operator.
    package init(subject: String) {
        self.subject = subject
    }

    /// Returns the value of `authorization` for requests to `origin`.
    package func authorization(
        _ key: VAPIDKey,
        for origin: String,
        now: Instant
    ) throws(CryptographyError) -> String {
        let use = Use(key: key.id, origin: origin)
        if let word = words.withLock({ $0[use] }), word.madeAt <= now, now < word.madeAt + Self.used {
            return word.authorization
        }
        return try make(key, use, now: now)
    }

    /// Records that a push service has accepted a message with this key, so that browsers have subscribed with it.
    func prove(_ key: VAPIDKey) {
        _ = proven.withLock { $0.insert(key.id) }
    }

    func isProven(_ key: VAPIDKey) -> Bool { proven.withLock { $0.contains(key.id) } }

    /// Returns another value than `refused`, which a push service rejected; `nil` if there is none to try.
    package func authorization(
        _ key: VAPIDKey,
        for origin: String,
        insteadOf refused: String,
        now: Instant
    ) throws(CryptographyError) -> String? {
        let use = Use(key: key.id, origin: origin)
        if let word = words.withLock({ $0[use] }), word.madeAt <= now, now < word.madeAt + Self.replaceable {
            return word.authorization == refused ? nil : word.authorization
        }
        return try make(key, use, now: now)
    }

    private func make(_ key: VAPIDKey, _ use: Use, now: Instant) throws(CryptographyError) -> String {
        let expires = (now + Self.lifetime).microseconds / 1_000_000
        let claims: JSONValue = [
            "aud": .string(use.origin), "exp": .number(JSONNumber(expires)), "sub": .string(subject),
        ]
        let token = try JSONWebToken.sign(
            header: Array(#"{"typ":"JWT","alg":"ES256"}"#.utf8),
            claims: JSONWriter.canonicalBytes(of: claims),
            algorithm: .es256,
            key: key.key
        )
        let authorization = "vapid t=\(token), k=\(key.publicKey)"
        words.withLock { words in
            if words.count >= Self.most { words = words.filter { now < $0.value.madeAt + Self.used } }
            if words.count >= Self.most { words.removeAll() }
            words[use] = Word(authorization: authorization, madeAt: now)
        }
        return authorization
    }
}
