import BellhopRules
import Cryptography
import HTTPTransfer
import ServiceRuntime
import Testing

@testable import Sandbox

/// A valid message for a browser of the sandbox, of which a test can change any part.
struct BrowserPushDraft {
    let client: SandboxClient
    let endpoint: String
    let key: PrivateKey
    var claims: JSONObject
    var header = #"{"typ":"JWT","alg":"ES256"}"#
    var headers: [String: String] = [
        "ttl": "60", "urgency": "normal", "topic": "abc-DEF_123", "content-encoding": "aes128gcm",
        "content-type": "application/octet-stream",
    ]
    /// Replaces the authorization that is signed with `key`.
    var authorization: String?
    var payload = Array(#"{"title":"t","tag":"n1"}"#.utf8)
    /// The bytes after the payload: delimiter and padding.
    var ending: [UInt8] = [2, 0, 0, 0]
    /// Changes the body before it is sent.
    var change: ([UInt8]) -> [UInt8] = { $0 }
    private let point: [UInt8]
    private let secret: [UInt8]

    init(_ client: SandboxClient, to subscription: JSONObject, key: PrivateKey? = nil) throws {
        self.client = client
        endpoint = try #require(subscription["endpoint"]?.string)
        let keys = try #require(WebPushKeys(subscription: subscription))
        (point, secret) = (keys.publicKey, keys.secret)
        self.key = try key ?? PrivateKey.generateP256()
        let origin = "https://localhost:\(client.sandbox.address.port)"
        let expires = client.time.now().microseconds / 1_000_000 + 3600
        claims = ["aud": .string(origin), "exp": .number(JSONNumber(expires)), "sub": "mailto:ops@example.com"]
    }

    var publicKey: String {
        get throws { Base64URL.encode(try key.publicKey().p256Point()) }
    }

    func signIn() throws -> String {
        let token = try JSONWebToken.sign(
            header: Array(header.utf8),
            claims: JSONWriter.canonicalBytes(of: .object(claims)),
            algorithm: .es256,
            key: key
        )
        return "vapid t=\(token), k=\(try publicKey)"
    }

    func send(to url: String? = nil) async throws -> TransferAnswer {
        var all = headers.map { (name: $0.key, value: $0.value) }
        let authorization = try authorization ?? signIn()
        if !authorization.isEmpty { all.append((name: "authorization", value: authorization)) }
        return try await client.answer(
            TransferRequest(.post, url: url ?? endpoint, headers: all, body: change(try body()))
        )
    }

    private func body() throws -> [UInt8] {
        let ours = try PrivateKey.generateP256()
        let point = try ours.publicKey().p256Point()
        let shared = try ours.sharedSecret(with: PublicKey(p256Point: self.point))
        let info = Array("WebPush: info\0".utf8) + self.point + point
        let material = try HKDF.expand(key: HKDF.extract(secret: shared, salt: secret), info: info, count: 32)
        let salt = try SecureRandom.bytes(16)
        let root = HKDF.extract(secret: material, salt: salt)
        let record = try AESGCM.seal(
            payload + ending,
            key: HKDF.expand(key: root, info: Array("Content-Encoding: aes128gcm\0".utf8), count: 16),
            nonce: HKDF.expand(key: root, info: Array("Content-Encoding: nonce\0".utf8), count: 12)
        )
        return salt + [0, 0, 16, 0, 65] + point + record
    }
}
