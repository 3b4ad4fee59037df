import BellhopRules
import Cryptography
import ServiceRuntime

/// A parsed JSON Web Token that has not been verified.
struct Assertion: Sendable {
    let header: JSONObject
    let claims: JSONObject
    let signature: [UInt8]
    /// The bytes that the signature covers.
    let signed: [UInt8]

    /// Returns `nil` unless the text has three parts of base64url, the first two of them JSON objects.
    init?(_ text: String) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 3, let header = Self.object(parts[0]), let claims = Self.object(parts[1]),
            let signature = Base64URL.decode(parts[2])
        else { return nil }
        self.header = header
        self.claims = claims
        self.signature = signature
        signed = Array("\(parts[0]).\(parts[1])".utf8)
    }

    private static func object(_ part: String) -> JSONObject? {
        guard let bytes = Base64URL.decode(part), !part.hasSuffix("=") else { return nil }
        return (try? JSONParser().parse(bytes).get())?.object
    }
}

extension Assertion {
    /// The maximum difference between the clocks of a sender and of the sandbox.
    static let clockSkew = Duration.seconds(60)

    static let scopes: Set<Substring> = [
        "https://www.googleapis.com/auth/firebase.messaging", "https://www.googleapis.com/auth/cloud-platform",
    ]

    /// Returns Google's reason for a rejection; `nil` if the assertion is valid for `account` and addressed to one of
    /// `audiences`.
    func fault(for account: SandboxServiceAccount, audiences: Set<String>, now: Instant) -> OAuthError? {
        guard header["alg"]?.string == "RS256" else { return .invalidGrant("Invalid JWT: unsupported algorithm.") }
        guard header["typ"]?.string == "JWT" else { return .invalidGrant("Invalid JWT: typ must be JWT.") }
        guard header["kid"]?.string == account.keyID, account.key.isRS256(signature, of: signed) else {
            return .invalidGrant("Invalid JWT Signature.")
        }
        guard let audience = claims["aud"]?.string, audiences.contains(audience) else {
            return .invalidGrant("Invalid JWT: Failed audience check.")
        }
        guard hasReasonableTimes(now) else {
            return .invalidGrant(
                "Invalid JWT: Token must be a short-lived token (60 minutes) and in a reasonable timeframe. "
                    + "Check your iat and exp values in the JWT claim."
            )
        }
        let asked = claims["scope"]?.string?.split(separator: " ") ?? []
        guard !asked.isEmpty, asked.allSatisfy(Self.scopes.contains) else {
            return OAuthError("invalid_scope", "Invalid OAuth scope or ID token audience provided.")
        }
        return nil
    }

    private func hasReasonableTimes(_ now: Instant) -> Bool {
        guard let issued = claims["iat"]?.number?.int64, let expires = claims["exp"]?.number?.int64 else {
            return false
        }
        let issuedAt = Instant(seconds: issued)
        let expiresAt = Instant(seconds: expires)
        guard issuedAt < expiresAt, expiresAt <= issuedAt + .seconds(3_600) else { return false }
        return issuedAt <= now + Self.clockSkew && expiresAt > now - Self.clockSkew
    }
}
