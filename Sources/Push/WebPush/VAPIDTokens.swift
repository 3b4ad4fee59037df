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

    private struct CachedToken {
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
    private let words = Mutex<[Use: CachedToken]>([:])
    /// The ids of the keys with which a push service has accepted a message.
    private let proven = Mutex<Set<String>>([])

    /// Creates the tokens; `subject` is a `mailto:` or `https:` URL at which push services can contact the operator.
    package init(subject: String) { self.subject = subject }

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
    func prove(_ key: VAPIDKey) { _ = proven.withLock { $0.insert(key.id) } }

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
            words[use] = CachedToken(authorization: authorization, madeAt: now)
        }
        return authorization
    }
}

/// One of an app's keys for signing in at push services (RFC 8292); browsers subscribe with its public half.
package struct VAPIDKey: Sendable {
    /// The key's name in subscriptions; it is internal and never sent.
    package let id: String

    package let key: PrivateKey

    /// The 65 bytes of its public half in base64url; a page passes it to `subscribe()`, and it is `k` of every request.
    package let publicKey: String

    /// Creates the key; throws if it is not on P-256.
    package init(id: String, key: PrivateKey) throws(CryptographyError) {
        self.id = id
        self.key = key
        publicKey = Base64URL.encode(try key.p256Point())
    }
}

extension VAPIDKey {
    /// Reads a key file: PEM, or the 32-byte secret number in base64url, the format of VAPID tools.
    package init(id: String, file bytes: [UInt8]) throws(CryptographyError) {
        let text = String(decoding: bytes, as: UTF8.self)
        let word = text.split(whereSeparator: \.isWhitespace)
        if word.count == 1, let secret = word.first.flatMap({ Base64URL.decode(String($0)) }) {
            try self.init(id: id, key: PrivateKey(p256Secret: secret))
        } else {
            try self.init(id: id, key: PrivateKey(pem: bytes))
        }
    }
}

/// An app's keys by their names.
package struct VAPIDKeys: Sendable {
    /// The keys; never empty, each name once.
    package let all: [VAPIDKey]

    /// The key of subscriptions that name none.
    package let usual: VAPIDKey

    /// Whether the configuration names ``usual``; otherwise it is the first key.
    package let isUsualNamed: Bool

    /// Creates the set of keys; `usual` must be one of them.
    package init(_ all: [VAPIDKey], usual: VAPIDKey, isUsualNamed: Bool = false) {
        self.all = all
        self.usual = usual
        self.isUsualNamed = isUsualNamed
    }

    /// Returns the key with which a subscription was created; `nil` for an unknown name.
    package func key(named id: String?) -> VAPIDKey? {
        guard let id else { return usual }
        return all.first { $0.id == id }
    }
}
