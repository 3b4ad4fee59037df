import BellhopJSON
import BellhopRules
import Cryptography

@testable import API

/// An issuer of tokens in any shape, with one key on P-256.
struct TestIssuer: Sendable {
    static let now = Timestamp(clamping: 1_800_000_000_000_000)
    /// The end of a token, ten minutes after ``now``.
    static let end: JSONValue = 1_800_000_600

    let key: PrivateKey
    let keyID: String

    init(keyID: String = "k1") throws {
        key = try PrivateKey.generateP256()
        self.keyID = keyID
    }

    /// The public key in a set's form; issuers that name no algorithm leave `alg` out.
    func publicKey(namingAlgorithm: Bool = true) throws -> JSONValue {
        let point = try key.p256Point()
        var object: JSONObject = [
            "kty": "EC", "crv": "P-256", "use": "sig", "kid": .string(keyID),
            "x": .string(Base64URL.encode(Array(point[1..<33]))), "y": .string(Base64URL.encode(Array(point[33...]))),
        ]
        if namingAlgorithm { object["alg"] = "ES256" }
        return .object(object)
    }

    func keySet(namingAlgorithm: Bool = true, beside others: [JSONValue] = []) throws -> [UInt8] {
        JSONWriter.canonicalBytes(of: ["keys": .array(others + [try publicKey(namingAlgorithm: namingAlgorithm)])])
    }

    func keys() throws -> TokenKeySet { try TokenKeySet.read(try keySet(), file: "keys.json").get() }

    /// Signs claims; `exp` is added.
    func token(_ claims: JSONObject, keyID: String? = nil) throws -> String {
        var claims = claims
        if claims["exp"] == nil { claims["exp"] = Self.end }
        let header: JSONObject = ["alg": "ES256", "typ": "JWT", "kid": .string(keyID ?? self.keyID)]
        return try JSONWebToken.sign(
            header: JSONWriter.canonicalBytes(of: .object(header)),
            claims: JSONWriter.canonicalBytes(of: .object(claims)),
            algorithm: .es256,
            key: key
        )
    }
}
