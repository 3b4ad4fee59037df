import Cryptography
import Testing

@Suite("Keys")
struct KeyTests {
    @Test(
        "a private key is read from every form that tools write",
        arguments: [
            (TestKeys.rfc7515, KeyKind.rsa), (TestKeys.rfc7515PKCS1, .rsa), (TestKeys.p256SEC1, .p256),
            (TestKeys.p256WithParameters, .p256), (TestKeys.p256, .p256), ("notes\r\n" + TestKeys.p256 + "\n\n", .p256),
        ]
    )
    func forms(_ pem: String, _ kind: KeyKind) throws {
        #expect(try PrivateKey(pem: Array(pem.utf8)).kind == kind)
    }

    @Test(
        "a broken, weak, locked or unsupported key is rejected with the expected forms",
        arguments: [
            "", "no key", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
            String(TestKeys.rfc7515.dropLast(200)), TestKeys.p256Public, RefusedKeys.rsa1024, RefusedKeys.p384,
            RefusedKeys.x25519, RefusedKeys.encrypted,
        ]
    )
    func refused(_ pem: String) {
        let error = failure { try PrivateKey(pem: Array(pem.utf8)) }
        #expect(error?.code == .invalidKey)
        #expect(error?.text.contains("expected") == true)
        let lines = pem.split(separator: "\n").filter { $0.count > 30 && !$0.hasPrefix("-") }
        #expect(!lines.contains { error?.text.contains($0) == true })
    }

    @Test("the public key of a P-256 key is the same from PEM, from its point and from the private key")
    func publicHalves() throws {
        let key = try PrivateKey(pem: Array(TestKeys.p256.utf8))
        let token = try JSONWebToken.sign(header: [], claims: [1], algorithm: .es256, key: key)
        let point = try #require(Base64URL.decode(Self.p256Point))
        for half in [
            try key.publicKey(), try PublicKey(pem: Array(TestKeys.p256Public.utf8)), try PublicKey(p256Point: point),
        ] {
            #expect(half.kind == .p256)
            #expect(JSONWebToken(verifying: token, algorithm: .es256, key: half) != nil)
        }
    }

    @Test("a point that is off the curve, short, compressed or at infinity is rejected")
    func badPoints() throws {
        let point = try #require(Base64URL.decode(Self.p256Point))
        var off = point
        off[64] ^= 1
        let bad: [[UInt8]] = [
            off, Array(point.dropLast()), [2] + point[1...32], [0], [], [4] + [UInt8](repeating: 0, count: 64),
        ]
        for point in bad {
            #expect(throws: CryptographyError.self) { try PublicKey(p256Point: point) }
        }
    }

    @Test("an RSA key from numbers must be complete and large enough")
    func badNumbers() throws {
        let exponent: [UInt8] = [1, 0, 1]
        let bad: [[UInt8]] = [[], [0], [UInt8](repeating: 0xFF, count: 128), [UInt8](repeating: 0xFF, count: 1025)]
        for modulus in bad {
            #expect(throws: CryptographyError.self) { try PublicKey(rsaModulus: modulus, exponent: exponent) }
        }
    }

    @Test("a public key's PEM must contain a public key", arguments: ["", "no key", TestKeys.p256])
    func badPublicPEM(_ pem: String) {
        #expect(throws: CryptographyError.self) { try PublicKey(pem: Array(pem.utf8)) }
    }

    /// The point of `TestKeys.p256`.
    private static let p256Point =
        "BIiwhsG569P0XVyxHqMjxcN0QJ_ejK8i0H-1Fnh24imILoiKlLkfdScHzef9gWKIycDVV4YKnGlUmCNqAce_Ctc"
}
