import Cryptography
import Testing

@Suite("P-256 keys")
struct KeyAgreementTests {
    /// RFC 8291, appendix A.
    private static let browserSecret = "q1dXpw3UpT5VOmu_cf_v6ih07Aems3njxI-JWgLcM94"
    private static let browserPoint =
        "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"
    private static let serverSecret = "yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw"
    private static let serverPoint =
        "BP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A8"
    private static let agreed = "kyrL1jIIOHEzg3sM2ZWRHDRB62YACZhhSlknJ672kSs"

    private func key(_ text: String) throws -> PrivateKey {
        try PrivateKey(p256Secret: try #require(Base64URL.decode(text)))
    }

    @Test("both sides of the example in RFC 8291 compute the published secret")
    func published() throws {
        let (browser, server) = (try key(Self.browserSecret), try key(Self.serverSecret))
        #expect(Base64URL.encode(try browser.publicKey().p256Point()) == Self.browserPoint)
        #expect(Base64URL.encode(try server.publicKey().p256Point()) == Self.serverPoint)
        #expect(try server.p256Point() == server.publicKey().p256Point())
        #expect(Base64URL.encode(try server.sharedSecret(with: browser.publicKey())) == Self.agreed)
        #expect(Base64URL.encode(try browser.sharedSecret(with: server.publicKey())) == Self.agreed)
    }

    @Test("secrets, points and coordinates keep their leading zeros")
    func leadingZeros() throws {
        let fixed = try key(Self.browserSecret)
        // At each of the three places, one value in 256 begins with a zero byte.
        for _ in 0..<600 {
            let fresh = try PrivateKey.generateP256()
            #expect(try fresh.publicKey().p256Point().count == 65)
            let (one, other) = (
                try fresh.sharedSecret(with: fixed.publicKey()), try fixed.sharedSecret(with: fresh.publicKey())
            )
            #expect(one == other && one.count == 32)
        }
    }

    @Test("a secret number must lie between 1 and the curve's order")
    func secrets() throws {
        let order = try #require(Base64URL.decode("_____wAAAAD__________7zm-q2nF56E87nKwvxjJVE"))
        var largest = order
        largest[31] -= 1
        var smallest = [UInt8](repeating: 0, count: 32)
        smallest[31] = 1
        for good in [smallest, largest] { #expect(try PrivateKey(p256Secret: good).kind == .p256) }
        let bad: [[UInt8]] = [
            order, [UInt8](repeating: 0, count: 32), [UInt8](repeating: 0xFF, count: 32), [], [1],
            [UInt8](repeating: 1, count: 33),
        ]
        for secret in bad { #expect(failure { try PrivateKey(p256Secret: secret) }?.code == .invalidKey) }
    }

    @Test("a generated key differs from every other, and its PEM contains the same key")
    func fresh() throws {
        let key = try PrivateKey.generateP256()
        let copy = try PrivateKey(pem: key.pem())
        #expect(try copy.publicKey().p256Point() == key.publicKey().p256Point())
        #expect(try PrivateKey.generateP256().publicKey().p256Point() != key.publicKey().p256Point())
        #expect(String(decoding: try key.pem(), as: UTF8.self).hasPrefix("-----BEGIN PRIVATE KEY-----\n"))
        #expect(!"\(key)".contains("MIG"))
    }

    @Test("an RSA key has no point and supports no key agreement")
    func otherKinds() throws {
        let rsa = try PrivateKey(pem: Array(TestKeys.rfc7515.utf8))
        let p256 = try PrivateKey.generateP256()
        #expect(failure { try rsa.publicKey().p256Point() }?.code == .invalidKey)
        #expect(failure { try rsa.p256Point() }?.code == .invalidKey)
        #expect(failure { try rsa.sharedSecret(with: p256.publicKey()) }?.code == .keyAgreement)
        #expect(failure { try p256.sharedSecret(with: rsa.publicKey()) }?.code == .keyAgreement)
    }
}
