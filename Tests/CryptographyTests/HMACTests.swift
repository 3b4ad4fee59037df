import Cryptography
import Testing

@Suite("HMAC")
struct HMACTests {
    /// RFC 4231, test cases 1, 2, 3, 6 and 7.
    private static let vectors: [(key: [UInt8], message: [UInt8], hex: String)] = [
        (
            Array(repeating: 0x0B, count: 20), Array("Hi There".utf8),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
        ),
        (
            Array("Jefe".utf8), Array("what do ya want for nothing?".utf8),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        ),
        (
            Array(repeating: 0xAA, count: 20), Array(repeating: 0xDD, count: 50),
            "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"
        ),
        (
            Array(repeating: 0xAA, count: 131), Array("Test Using Larger Than Block-Size Key - Hash Key First".utf8),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
        ),
        (
            Array(repeating: 0xAA, count: 131),
            Array(
                """
                This is a test using a larger than block-size key and a larger than block-size data. The key needs to \
                be hashed before being used by the HMAC algorithm.
                """.utf8
            ),
            "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2"
        ),
    ]

    @Test("the results equal the vectors of RFC 4231", arguments: vectors)
    func known(_ key: [UInt8], _ message: [UInt8], _ hex: String) {
        let proof = HMAC.sha256(of: message, key: key)
        #expect(proof.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() == hex)
        #expect(HMAC.isValid(proof, of: message, key: key))
    }

    @Test("an HMAC of another message or key, or a part of one, is not valid")
    func refuses() {
        let key = Array(repeating: UInt8(1), count: 32)
        let proof = HMAC.sha256(of: [1, 2, 3], key: key)
        #expect(!HMAC.isValid(proof, of: [1, 2], key: key))
        #expect(!HMAC.isValid(proof, of: [1, 2, 3], key: [2]))
        #expect(!HMAC.isValid(Array(proof.dropLast()), of: [1, 2, 3], key: key))
        #expect(!HMAC.isValid([], of: [1, 2, 3], key: key))
        #expect(HMAC.sha256(of: [], key: []).count == 32)
    }
}
