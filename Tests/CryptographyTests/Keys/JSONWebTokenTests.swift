import Cryptography
import Testing

@Suite("JSON Web Tokens")
struct JSONWebTokenTests {
    /// RFC 7515, appendix A.2.
    private static let rs256 = """
        eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19\
        yb290Ijp0cnVlfQ.cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt\
        _O8W2Fp5jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb\
        1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI\
        8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw
        """

    private static let modulus = """
        ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yR\
        T-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXB\
        dQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9ia\
        GNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ
        """

    /// RFC 8292, section 2.4.
    private static let es256 = """
        eyJ0eXAiOiJKV1QiLCJhbGciOiJFUzI1NiJ9.eyJhdWQiOiJodHRwczovL3B1c2guZXhhbXBsZS5uZXQiLCJleHAiOjE0NTM1MjM\
        3NjgsInN1YiI6Im1haWx0bzpwdXNoQGV4YW1wbGUuY29tIn0.i3CYb7t4xfxCDquptFOepC9GAu_HLGkMlMuCGSK2rpiUfnK9ojF\
        wDXb1JrErtmysazNjjvW2L9OkSSHzvoD1oA
        """

    private static let vapidPoint =
        "BA1Hxzyi1RUM1b5wjxsn7nGxAszw2u61m164i3MrAIxHF6YK5h4SDYic-dRuU_RCPCfA5aq9ojSwk5Y2EmClBPs"

    private static let claims = Array(
        "{\"iss\":\"joe\",\r\n \"exp\":1300819380,\r\n \"http://example.com/is_root\":true}".utf8
    )

    @Test("RS256 yields the signature in RFC 7515, from both forms of its key")
    func publishedRS256() throws {
        for pem in [TestKeys.rfc7515, TestKeys.rfc7515PKCS1] {
            let key = try PrivateKey(pem: Array(pem.utf8))
            let header = Array(#"{"alg":"RS256"}"#.utf8)
            #expect(
                try JSONWebToken.sign(header: header, claims: Self.claims, algorithm: .rs256, key: key) == Self.rs256
            )
        }
    }

    @Test("the token in RFC 7515 is accepted with the key in its JWK")
    func publishedJWK() throws {
        let modulus = try #require(Base64URL.decode(Self.modulus))
        let key = try PublicKey(rsaModulus: modulus, exponent: [1, 0, 1])
        let token = try #require(JSONWebToken(verifying: Self.rs256, algorithm: .rs256, key: key))
        #expect(token.claims == Self.claims)
        #expect(String(decoding: token.header, as: UTF8.self) == #"{"alg":"RS256"}"#)
        #expect(try PublicKey(rsaModulus: [0] + modulus, exponent: [0, 1, 0, 1]).kind == .rsa)
    }

    @Test("the token in RFC 8292 is accepted with the key that is published with it")
    func publishedES256() throws {
        let key = try PublicKey(p256Point: try #require(Base64URL.decode(Self.vapidPoint)))
        let token = try #require(JSONWebToken(verifying: Self.es256, algorithm: .es256, key: key))
        let expected = #"{"aud":"https://push.example.net","exp":1453523768,"sub":"mailto:push@example.com"}"#
        #expect(String(decoding: token.claims, as: UTF8.self) == expected)
    }

    @Test("an ES256 signature is always 64 bytes long, even if one of its numbers is short")
    func fixedLength() throws {
        let key = try PrivateKey(pem: Array(TestKeys.p256.utf8))
        let half = try key.publicKey()
        // One signature in 128 has a short number. The probability that none of 600 has one is 1%.
        for round in 0..<600 {
            let claims = Array("\(round)".utf8)
            let token = try JSONWebToken.sign(header: [], claims: claims, algorithm: .es256, key: key)
            let last = try #require(token.split(separator: ".", omittingEmptySubsequences: false).last)
            #expect(Base64URL.decode(String(last))?.count == 64)
            #expect(JSONWebToken(verifying: token, algorithm: .es256, key: half)?.claims == claims)
        }
    }

    @Test("a token that was changed at any place is rejected", arguments: [rs256, es256])
    func changed(_ token: String) throws {
        let isRSA = token == Self.rs256
        let algorithm: JSONWebToken.Algorithm = isRSA ? .rs256 : .es256
        let key =
            isRSA
            ? try PublicKey(rsaModulus: try #require(Base64URL.decode(Self.modulus)), exponent: [1, 0, 1])
            : try PublicKey(p256Point: try #require(Base64URL.decode(Self.vapidPoint)))
        #expect(JSONWebToken(verifying: token, algorithm: algorithm, key: key) != nil)
        let bytes = Array(token.utf8)
        for index in bytes.indices {
            var changed = bytes
            changed[index] = bytes[index] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
            let text = String(decoding: changed, as: UTF8.self)
            #expect(JSONWebToken(verifying: text, algorithm: algorithm, key: key) == nil, "byte \(index)")
        }
    }

    @Test("a malformed token is rejected")
    func malformed() throws {
        let key = try PublicKey(p256Point: try #require(Base64URL.decode(Self.vapidPoint)))
        let dots = Self.es256.split(separator: ".")
        for text in [
            "", ".", "..", "...", "a.b.c", Self.es256 + ".", "." + Self.es256, Self.es256 + "=", Self.es256 + "==",
            " " + Self.es256,
            Self.es256 + "AAAA", String(Self.es256.dropLast(4)), "\(dots[0]).\(dots[1])", "\(dots[0]).\(dots[1]).",
        ] {
            #expect(JSONWebToken(verifying: text, algorithm: .es256, key: key) == nil, "\(text)")
        }
    }

    @Test("the caller sets the algorithm: neither the header nor the key can choose another")
    func pinned() throws {
        let ours = try PrivateKey(pem: Array(TestKeys.p256.utf8))
        let rsa = try PrivateKey(pem: Array(TestKeys.rfc7515.utf8))
        let claiming = Array(#"{"alg":"none"}"#.utf8)
        let token = try JSONWebToken.sign(header: claiming, claims: [1], algorithm: .es256, key: ours)
        #expect(JSONWebToken(verifying: token, algorithm: .es256, key: try ours.publicKey()) != nil)
        #expect(JSONWebToken(verifying: token, algorithm: .rs256, key: try ours.publicKey()) == nil)
        #expect(JSONWebToken(verifying: token, algorithm: .rs256, key: try rsa.publicKey()) == nil)
        #expect(JSONWebToken(verifying: token, algorithm: .es256, key: try rsa.publicKey()) == nil)
        let error = failure {
            try JSONWebToken.sign(header: [], claims: [], algorithm: .rs256, key: ours)
        }
        #expect(error?.code == .signing)
    }

    @Test("one key signs concurrently for many tasks")
    func concurrent() async throws {
        let key = try PrivateKey(pem: Array(TestKeys.rfc7515.utf8))
        let half = try key.publicKey()
        let valid = try await withThrowingTaskGroup(of: Bool.self) { group in
            for round in 0..<64 {
                group.addTask {
                    let claims = Array("\(round)".utf8)
                    let token = try JSONWebToken.sign(header: [], claims: claims, algorithm: .rs256, key: key)
                    return JSONWebToken(verifying: token, algorithm: .rs256, key: half)?.claims == claims
                }
            }
            return try await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
        }
        #expect(valid == 64)
    }
}
