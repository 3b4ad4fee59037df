import BellhopRules
import Cryptography
import Push
import ServiceRuntime
import Testing

@Suite("VAPID authorization")
struct VAPIDTests {
    private let start = Instant(seconds: 1_800_000_000)
    private let origin = "https://fcm.googleapis.com"

    private func key(_ id: String = "main") throws -> VAPIDKey {
        try VAPIDKey(id: id, key: PrivateKey.generateP256())
    }

    private func claims(_ authorization: String, _ key: VAPIDKey) throws -> JSONValue {
        let parts = authorization.split(separator: " ", maxSplits: 1)
        #expect(parts.count == 2 && parts[0] == "vapid")
        let fields = parts[1].split(separator: ", ")
        #expect(fields.count == 2 && fields[0].hasPrefix("t=") && fields[1] == "k=\(key.publicKey)")
        let point = try #require(Base64URL.decode(key.publicKey))
        #expect(point.count == 65)
        let token = try #require(
            JSONWebToken(verifying: String(fields[0].dropFirst(2)), algorithm: .es256, key: PublicKey(p256Point: point))
        )
        #expect(String(decoding: token.header, as: UTF8.self) == #"{"typ":"JWT","alg":"ES256"}"#)
        return try JSONParser().parse(token.claims).get()
    }

    @Test("an authorization names the service, the sender and an end in twelve hours, and is signed with the key in k")
    func content() throws {
        let key = try key()
        let tokens = VAPIDTokens(subject: "mailto:ops@example.com")
        let claims = try claims(tokens.authorization(key, for: origin, now: start), key)
        #expect(claims == ["aud": "https://fcm.googleapis.com", "exp": 1_800_043_200, "sub": "mailto:ops@example.com"])
    }

    @Test("one authorization is made for each key and origin, and used for six hours")
    func cache() throws {
        let (one, other) = (try key("one"), try key("other"))
        let tokens = VAPIDTokens(subject: "mailto:ops@example.com")
        let first = try tokens.authorization(one, for: origin, now: start)
        #expect(try tokens.authorization(one, for: origin, now: start + .seconds(6 * 3600 - 1)) == first)
        #expect(try tokens.authorization(other, for: origin, now: start) != first)
        #expect(try tokens.authorization(one, for: "https://web.push.apple.com", now: start) != first)
        let later = start + .seconds(6 * 3600)
        let renewed = try tokens.authorization(one, for: origin, now: later)
        #expect(renewed != first)
        #expect(try claims(renewed, one)["exp"] == 1_800_064_800)
        #expect(try tokens.authorization(one, for: origin, now: later) == renewed)
    }

    @Test("a new authorization is made after a clock was set back, and is not too far ahead")
    func clockSetBack() throws {
        let key = try key()
        let tokens = VAPIDTokens(subject: "mailto:ops@example.com")
        _ = try tokens.authorization(key, for: origin, now: start)
        let earlier = start - .seconds(86_400)
        let claims = try claims(tokens.authorization(key, for: origin, now: earlier), key)
        #expect(claims["exp"] == 1_799_956_800)
    }

    @Test("a rejected authorization is replaced once it is an hour old, never sooner, and once for all requests")
    func refused() throws {
        let key = try key()
        let tokens = VAPIDTokens(subject: "mailto:ops@example.com")
        let first = try tokens.authorization(key, for: origin, now: start)
        let soon = start + .seconds(3599)
        #expect(try tokens.authorization(key, for: origin, insteadOf: first, now: soon) == nil)
        let late = start + .seconds(3600)
        let second = try #require(try tokens.authorization(key, for: origin, insteadOf: first, now: late))
        #expect(second != first)
        #expect(try tokens.authorization(key, for: origin, insteadOf: first, now: late) == second)
        #expect(try tokens.authorization(key, for: origin, insteadOf: second, now: late) == nil)
    }

    @Test("an unlimited number of origins does not fill the memory, and each still gets its own authorization")
    func manyOrigins() throws {
        let key = try key()
        let tokens = VAPIDTokens(subject: "mailto:ops@example.com")
        for number in 0..<1100 {
            let origin = "https://n\(number).notify.windows.com"
            let authorization = try tokens.authorization(key, for: origin, now: start)
            guard number % 100 == 0 else { continue }
            #expect(try claims(authorization, key)["aud"]?.string == origin)
        }
    }

    @Test("a key file is PEM or the secret number in base64url, and any other content or kind of key is rejected")
    func files() throws {
        let secret = "q1dXpw3UpT5VOmu_cf_v6ih07Aems3njxI-JWgLcM94"
        for text in [secret, secret + "\n", "  \(secret)=\r\n"] {
            #expect(try VAPIDKey(id: "a", file: Array(text.utf8)).publicKey == Browsers.point)
        }
        #expect(try VAPIDKey(id: "a", file: Array(TestKey.ellipticPEM.utf8)).publicKey.count == 87)
        for text in ["", "abc", TestKey.pem, secret + secret, "\(secret) \(secret)"] {
            #expect(throws: CryptographyError.self) { try VAPIDKey(id: "a", file: Array(text.utf8)) }
        }
    }
}
