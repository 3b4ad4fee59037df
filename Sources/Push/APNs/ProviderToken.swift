import BellhopRules
import Cryptography
package import ServiceRuntime

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
