package import Cryptography

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

    /// Creates the set of keys; `usual` must be one of them.
    package init(_ all: [VAPIDKey], usual: VAPIDKey) {
        self.all = all
        self.usual = usual
    }

    /// Returns the key with which a subscription was created; `nil` for an unknown name.
    package func key(named id: String?) -> VAPIDKey? {
        guard let id else { return usual }
        return all.first { $0.id == id }
    }
}
