import Cryptography
import Testing

@Suite("Encryption")
struct EncryptionTests {
    @Test("HMAC yields the values in RFC 4231 for short, long and empty keys")
    func publishedHMAC() {
        let short = HMAC.sha256(of: Array("what do ya want for nothing?".utf8), key: Array("Jefe".utf8))
        #expect(hex(short) == "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843")
        let text = Array("Test Using Larger Than Block-Size Key - Hash Key First".utf8)
        let long = HMAC.sha256(of: text, key: [UInt8](repeating: 0xAA, count: 131))
        #expect(hex(long) == "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54")
        let empty = HMAC.sha256(of: [], key: [])
        #expect(hex(empty) == "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad")
    }

    @Test("HKDF yields the values in RFC 5869, with and without salt and purpose")
    func publishedHKDF() throws {
        let secret = [UInt8](repeating: 0x0B, count: 22)
        let key = HKDF.extract(secret: secret, salt: Array(0...12))
        #expect(hex(key) == "077709362c2e32df0ddc3f0dc47bba6390b6c73bb50f9c3122ec844ad7c2b3e5")
        let output = try HKDF.expand(key: key, info: Array(0xF0...0xF9), count: 42)
        #expect(
            hex(output) == "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865"
        )
        let plain = try HKDF.expand(key: HKDF.extract(secret: secret, salt: []), info: [], count: 42)
        #expect(
            hex(plain) == "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8"
        )
    }

    @Test("HKDF yields at most as many bytes as one expansion can")
    func lengths() throws {
        let key = HKDF.extract(secret: [1], salt: [2])
        let longest = try HKDF.expand(key: key, info: [], count: HKDF.longest)
        #expect(longest.count == HKDF.longest)
        #expect(try HKDF.expand(key: key, info: [], count: 1) == Array(longest.prefix(1)))
        for count in [0, -1, HKDF.longest + 1] {
            #expect(failure { try HKDF.expand(key: key, info: [], count: count) }?.code == .encryption)
        }
    }

    @Test("AES-128-GCM yields the values in its specification, and opens them again")
    func publishedGCM() throws {
        let zeros = [UInt8](repeating: 0, count: 16)
        let nonce = [UInt8](repeating: 0, count: 12)
        let empty = try AESGCM.seal([], key: zeros, nonce: nonce)
        #expect(hex(empty) == "58e2fccefa7e3061367f1d57a4e7455a")
        #expect(try AESGCM.open(empty, key: zeros, nonce: nonce) == [])
        let block = try AESGCM.seal(zeros, key: zeros, nonce: nonce)
        #expect(hex(block) == "0388dace60b6a392f328c2b971b2fe78ab6e47d42cec13bdf53a67b21257bddf")
        #expect(try AESGCM.open(block, key: zeros, nonce: nonce) == zeros)
    }

    @Test("a sealed text with a changed bit, a missing byte, or another key or nonce is not opened")
    func tampering() throws {
        let key = try SecureRandom.bytes(16)
        let nonce = try SecureRandom.bytes(12)
        let sealed = try AESGCM.seal(Array("a secret".utf8), key: key, nonce: nonce)
        for bit in 0..<sealed.count * 8 {
            var changed = sealed
            changed[bit / 8] ^= 1 << UInt8(bit % 8)
            #expect(failure { try AESGCM.open(changed, key: key, nonce: nonce) }?.code == .encryption)
        }
        let others: [([UInt8], [UInt8], [UInt8])] = [
            (Array(sealed.dropLast()), key, nonce), ([], key, nonce), (sealed, key.reversed(), nonce),
            (sealed, key, nonce.reversed()), (sealed, key + [0], nonce), (sealed, key, nonce + [0]), (sealed, [], []),
        ]
        for (text, key, nonce) in others {
            #expect(failure { try AESGCM.open(text, key: key, nonce: nonce) }?.code == .encryption)
        }
        #expect(failure { try AESGCM.seal([1], key: [1], nonce: nonce) }?.code == .encryption)
    }

    private func hex(_ bytes: [UInt8]) -> String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}
