import Cryptography
import Testing

@Suite("SHA-256")
struct DigestTests {
    @Test(
        "the digests equal those in FIPS 180",
        arguments: [
            ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
            ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
            (
                "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
                "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
            ),
        ]
    )
    func publishedVectors(text: String, hex: String) {
        #expect(SHA256.digest(of: Array(text.utf8)).description == hex)
    }

    @Test("the digest of a million letters equals the published one")
    func longInput() {
        let digest = SHA256.digest(of: [UInt8](repeating: UInt8(ascii: "a"), count: 1_000_000))
        #expect(digest.description == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0")
    }

    @Test("a part of a buffer is digested in place")
    func rawBuffer() {
        let digest = Array("xabcx".utf8).withUnsafeBytes {
            SHA256.digest(of: UnsafeRawBufferPointer(rebasing: $0[1...3]))
        }
        #expect(digest == SHA256.digest(of: Array("abc".utf8)))
        #expect(digest != SHA256.digest(of: Array("abd".utf8)))
    }

    @Test("the half of a digest is its first 16 bytes, and equals the half made of these")
    func half() {
        let digest = SHA256.digest(of: Array("abc".utf8))
        #expect(digest.half.bytes == Array(digest.bytes.prefix(16)))
        #expect(HalfDigest(stored: Array(digest.bytes.prefix(16))) == digest.half)
        #expect(HalfDigest(stored: [1]).bytes == [1] + Array(repeating: 0, count: 15))
    }

    @Test("a digest's bytes have the order of its hex digits")
    func bytes() {
        let digest = SHA256.digest(of: Array("abc".utf8))
        #expect(digest.bytes.count == 32)
        #expect(digest.bytes.prefix(4) == [0xba, 0x78, 0x16, 0xbf])
        #expect(digest.bytes.last == 0xad)
    }

    @Test("the length of a prefix is clamped", arguments: [(-1, 0), (0, 0), (1, 1), (16, 16), (32, 32), (99, 32)])
    func prefix(asked: Int, count: Int) {
        let digest = SHA256.digest(of: Array("abc".utf8))
        #expect(digest.prefix(asked) == Array(digest.bytes.prefix(count)))
    }

    @Test("the length of a hex prefix is clamped", arguments: [(-1, 0), (0, 0), (1, 2), (8, 16), (32, 64), (99, 64)])
    func hexPrefix(bytes: Int, digits: Int) {
        let digest = SHA256.digest(of: Array("abc".utf8))
        #expect(digest.hexPrefix(bytes: bytes) == String(digest.description.prefix(digits)))
    }

    @Test("a digest works as an element of a set")
    func hashable() {
        let digests = Set((0..<100).map { SHA256.digest(of: [UInt8($0 % 50)]) })
        #expect(digests.count == 50)
    }
}
