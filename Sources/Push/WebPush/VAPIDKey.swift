package import Cryptography

/// One of an app's keys for signing in at push services (RFC 8292); browsers subscribe with its public half.
package struct VAPIDKey: Sendable {
    /// What subscriptions call it by; a name of our own, never sent anywhere.
    package let id: String

    package let key: PrivateKey

    /// The 65 bytes of its public half in base64url: what a page hands to `subscribe()`, and `k` of every request.
    package let publicKey: String

    /// Throws for a key that is not on P-256.
    package init(id: String, key: PrivateKey) throws(CryptographyError) {
        self.id = id
        self.key = key
        publicKey = Base64URL.encode(try key.p256Point())
    }
}

extension VAPIDKey {
    /// Reads a key file: PEM, or the secret number of 32 bytes in base64url, as tools for VAPID write it.
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
    /// Never empty, each name once.
    package let all: [VAPIDKey]

    /// The key of subscriptions that name none.
    package let usual: VAPIDKey

    /// Takes the keys, of which `usual` is one.
    package init(_ all: [VAPIDKey], usual: VAPIDKey) {
        self.all = all
        self.usual = usual
    }

    /// The key that a subscription was made with; nil for a name that nobody knows.
    package func key(named id: String?) -> VAPIDKey? {
        guard let id else { return usual }
        return all.first { $0.id == id }
    }
}
