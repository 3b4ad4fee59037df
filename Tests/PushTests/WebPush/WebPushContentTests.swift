import BellhopRules
import Cryptography
import Push
import Testing

@Suite("Encryption for browsers")
struct WebPushContentTests {
    private static let body = """
        DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru\
        3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN
        """

    private static func freshness() throws -> WebPushContent.EphemeralKeys {
        let secret = try #require(Base64URL.decode("yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw"))
        let salt = try #require(Base64URL.decode("DGv6ra1nlYgDCS1FRnbzlw"))
        return WebPushContent.EphemeralKeys(key: try PrivateKey(p256Secret: secret), salt: salt)
    }

    private static let plaintext = Array("When I grow up, I want to be a watermelon".utf8)

    @Test("the example of RFC 8291 is reproduced byte for byte")
    func published() throws {
        let body = try WebPushContent.body(
            Self.plaintext,
            paddedTo: 0,
            for: Browsers.keys(),
            with: Self.freshness()
        )
        #expect(body.count == 144)
        #expect(Base64URL.encode(body) == Self.body)
        #expect(
            SHA256.digest(of: body).description == "f976e174457c5111a0b05234e648bc012cb1e2b37949afce4d7b1e84752953c7"
        )
    }

    @Test("padding lengthens the record by exactly its own length, up to a body of 4,096 bytes")
    func padding() throws {
        for length in WebPushPadding.lengths {
            let body = try WebPushContent.body(
                Self.plaintext,
                paddedTo: length,
                for: Browsers.keys(),
                with: Self.freshness()
            )
            #expect(body.count == length + 103)
        }
        #expect(WebPushPadding.lengths.last == 3993)
    }

    @Test("no secret of one message is used for the next")
    func freshness() throws {
        let bodies = try (0..<50).map { _ in
            try WebPushContent.body(Self.plaintext, paddedTo: 512, for: Browsers.keys(), with: .draw())
        }
        #expect(Set(bodies.map { Array($0[..<16]) }).count == 50)
        #expect(Set(bodies.map { Array($0[21..<86]) }).count == 50)
        #expect(Set(bodies.map { Array($0[86...]) }).count == 50)
    }

    @Test("a browser's key off the curve is an invalid key, and gives no shared secret")
    func offCurve() throws {
        var point = try #require(Base64URL.decode(Browsers.point))
        point[64] ^= 1
        let keys = try Browsers.keys(point: Base64URL.encode(point))
        do {
            _ = try WebPushContent.body(Self.plaintext, paddedTo: 512, for: keys, with: .draw())
            Issue.record("the point is on no curve")
        } catch {
            #expect(error.code == .invalidKey)
        }
    }

    @Test("keys are printed as a mask")
    func mask() throws {
        let keys = try Browsers.keys(keyID: "2026")
        for text in ["\(keys)", String(reflecting: keys), "\(Mirror(reflecting: keys).children.count)"] {
            #expect(!text.contains(Browsers.secret) && !text.contains("19"), "\(text)")
        }
        var dumped = ""
        dump(keys, to: &dumped)
        #expect(dumped.contains("•••") && !dumped.contains("secret"))
    }
}
