import Cryptography
import Testing

@Suite("Base64url")
struct Base64URLTests {
    static let vectors: [(plain: String, padded: String)] = [
        ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE="),
        ("foobar", "Zm9vYmFy"),
    ]

    @Test("encoding and decoding agree with the vectors of RFC 4648", arguments: vectors)
    func publishedVectors(plain: String, padded: String) {
        let unpadded = padded.filter { $0 != "=" }
        #expect(Base64URL.encode(Array(plain.utf8)) == unpadded)
        #expect(Base64URL.decode(unpadded) == Array(plain.utf8))
        #expect(Base64URL.decode(padded) == Array(plain.utf8))
    }

    @Test("encoding uses the two digits that are safe in a URL")
    func alphabet() {
        #expect(Base64URL.encode([0xfb, 0xff, 0xfe]) == "-__-")
        #expect(Base64URL.decode("-__-") == [0xfb, 0xff, 0xfe])
    }

    @Test(
        "decoding rejects every text except the one canonical spelling",
        arguments: [
            "A", "AAAAA", "+//+", "Zg=", "Zg===", "Z===", "====", "=", "Zm9v====", "Zg==Zg==", "Zm 9v", "Zm9v\n", "Zh",
            "Zm9",
            "Zm9vé",
        ]
    )
    func refusals(text: String) {
        #expect(Base64URL.decode(text) == nil)
    }

    @Test("any bytes of any length survive encoding and decoding")
    func roundTrip() throws {
        for count in 0...100 {
            let bytes = try SecureRandom.bytes(count)
            #expect(Base64URL.decode(Base64URL.encode(bytes)) == bytes)
        }
    }
}
