import Cryptography
import Testing

@Suite("EdDSA tokens")
struct EdDSATests {
    /// RFC 8037, appendix A.4.
    private static let token = """
        eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc.hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR\
        4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg
        """
    /// The secret of appendix A.1, as PKCS #8.
    private static let pem = """
        -----BEGIN PRIVATE KEY-----
        MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g
        -----END PRIVATE KEY-----
        """
    private static let point = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"

    @Test("the key of RFC 8037 makes the published token, and its public key accepts the token")
    func published() throws {
        let key = try PrivateKey(pem: Array(Self.pem.utf8))
        let made = try JSONWebToken.sign(
            header: Array(#"{"alg":"EdDSA"}"#.utf8),
            claims: Array("Example of Ed25519 signing".utf8),
            algorithm: .edDSA,
            key: key
        )
        #expect(made == Self.token)
        let point = try #require(Base64URL.decode(Self.point))
        for half in [try PublicKey(ed25519Point: point), try key.publicKey()] {
            let token = try #require(JSONWebToken(verifying: Self.token, algorithm: .edDSA, key: half))
            #expect(token.claims == Array("Example of Ed25519 signing".utf8))
        }
    }

    @Test("a key of another kind does not accept an EdDSA token, and an Ed25519 key accepts no other token")
    func kinds() throws {
        let point = try #require(Base64URL.decode(Self.point))
        let key = try PublicKey(ed25519Point: point)
        let other = try PrivateKey.generateP256().publicKey()
        #expect(JSONWebToken(verifying: Self.token, algorithm: .es256, key: key) == nil)
        #expect(JSONWebToken(verifying: Self.token, algorithm: .edDSA, key: other) == nil)
        #expect(throws: CryptographyError.self) { try PublicKey(ed25519Point: Array(point.dropLast())) }
    }
}
