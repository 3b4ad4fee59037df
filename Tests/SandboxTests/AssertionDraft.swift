import BellhopRules
import Cryptography
import ServiceRuntime
import Testing

/// A valid assertion that a test can change.
struct AssertionDraft {
    var header: JSONObject
    var claims: JSONObject
    private let key: PrivateKey

    init(_ client: SandboxClient) throws {
        let account = try JSONText.parse(client.sandbox.serviceAccountJSON)
        let pem = try #require(account["private_key"]?.string)
        key = try PrivateKey(pem: Array(pem.utf8))
        header = ["alg": "RS256", "typ": "JWT"]
        header["kid"] = account["private_key_id"]
        let now = client.time.now().microseconds / 1_000_000
        claims = [
            "scope": "https://www.googleapis.com/auth/firebase.messaging",
            "iat": .number(JSONNumber(now)), "exp": .number(JSONNumber(now + 3_600)),
        ]
        claims["iss"] = account["client_email"]
        claims["aud"] = account["token_uri"]
    }

    func signed() throws -> String {
        try JSONWebToken.sign(
            header: JSONWriter.canonicalBytes(of: .object(header)),
            claims: JSONWriter.canonicalBytes(of: .object(claims)),
            algorithm: .rs256,
            key: key
        )
    }
}
