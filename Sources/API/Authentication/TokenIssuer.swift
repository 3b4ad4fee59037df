import BellhopJSON
package import BellhopRules
package import Cryptography

/// Makes tokens as an app's sign-in would, for development, tests and benchmarks.
///
/// The key is on P-256, and its name is a hash of its public half.
package struct TokenIssuer: Sendable {
    private let key: PrivateKey
    private let point: [UInt8]
    package let keyID: String

    /// Creates an issuer.
    ///
    /// Throws if the key is not on P-256.
    package init(key: PrivateKey) throws(CryptographyError) {
        self.key = key
        point = try key.p256Point()
        keyID = String(Base64URL.encode(SHA256.digest(of: point).prefix(16)).prefix(16))
    }

    /// The claims of a token apart from app and user.
    package struct Terms: Sendable {
        package var audience: String
        package var issuer: String?
        package var issuedAt: Timestamp
        package var expiresAt: Timestamp

        package init(audience: String, issuer: String? = nil, issuedAt: Timestamp, expiresAt: Timestamp) {
            self.audience = audience
            self.issuer = issuer
            self.issuedAt = issuedAt
            self.expiresAt = expiresAt
        }
    }

    package func token(app: AppID, user: UserID, _ terms: Terms) throws(CryptographyError) -> String {
        var claims: JSONObject = [
            "app": .string(app.text), "sub": .string(user.text), "aud": .string(terms.audience),
            "iat": Self.seconds(terms.issuedAt), "exp": Self.seconds(terms.expiresAt),
        ]
        if let issuer = terms.issuer { claims["iss"] = .string(issuer) }
        let header: JSONObject = ["alg": "ES256", "typ": "JWT", "kid": .string(keyID)]
        return try JSONWebToken.sign(
            header: JSONWriter.canonicalBytes(of: .object(header)),
            claims: JSONWriter.canonicalBytes(of: .object(claims)),
            algorithm: .es256,
            key: key
        )
    }

    /// The key set that an API needs to accept the tokens.
    package var keySet: [UInt8] { keySet(beside: []) }

    /// Returns the key set together with the keys of other issuers.
    package func keySet(beside others: [JSONValue]) -> [UInt8] {
        let key: JSONObject = [
            "kty": "EC", "crv": "P-256", "alg": "ES256", "use": "sig", "kid": .string(keyID),
            "x": .string(Base64URL.encode(Array(point[1..<33]))), "y": .string(Base64URL.encode(Array(point[33...]))),
        ]
        return JSONWriter.canonicalBytes(of: ["keys": .array(others + [.object(key)])])
    }

    private static func seconds(_ time: Timestamp) -> JSONValue {
        .number(JSONNumber(time.microseconds / 1_000_000))
    }
}
