import BellhopRules
import Cryptography
import Push
import ServiceRuntime
import Testing
import TestSupport

/// Whether Python and its library `cryptography` (Debian: python3-cryptography) are installed.
private let isOracleThere: Bool = {
    guard PythonScript.isThere else { return false }
    return PythonScript.succeeds("webpush_open.py", "check")
}()

@Suite(
    "Web Push in another implementation",
    .limitedConcurrency,
    .enabled(if: isOracleThere, "needs python3 with the library cryptography (Debian: python3-cryptography)"),
    .timeLimit(.ofTest)
)
struct WebPushOracleTests {
    @Test("Python decrypts encrypted bodies of many keys and lengths, and no changed one")
    func bodies() async throws {
        var generator = SeededChance.announced("Web Push bodies")
        var questions: [String] = []
        var expected: [String] = []
        for round in 0..<40 {
            let browser = try PrivateKey.generateP256()
            let point = Base64URL.encode(try browser.p256Point())
            let keys = try Browsers.keys(point: point)
            let count = Int.random(in: 0...3993, using: &generator)
            let payload = (0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) }
            let length = try #require(WebPushPadding.lengths.first { $0 >= count })
            var body = try WebPushContent.body(payload, paddedTo: length, for: keys, with: .draw())
            let isChanged = round % 4 == 3
            if isChanged { body[Int.random(in: 0..<body.count, using: &generator)] ^= 1 }
            let secret = try Self.secret(of: browser)
            questions.append("\(secret) \(point) \(Browsers.secret) \(Base64URL.encode(body))\n")
            expected.append(isChanged ? "no" : "\(length) \(Base64URL.encode(payload))")
        }
        let answers = try await PythonScript.lines(
            of: "webpush_open.py",
            arguments: ["open"],
            input: questions.joined(),
            environment: PythonScript.home
        )
        // A changed record size that is still long enough changes nothing else.
        for (index, (answer, expected)) in zip(answers, expected).enumerated() where index % 4 != 3 {
            #expect(answer == expected)
        }
        #expect(answers.count == 40)
        #expect(answers.filter { $0 == "no" }.count >= 8)
    }

    @Test("Python verifies an authorization with its key, and not with another one")
    func signIn() async throws {
        let key = try VAPIDKey(id: "main", key: PrivateKey.generateP256())
        let other = try VAPIDKey(id: "other", key: PrivateKey.generateP256())
        let tokens = VAPIDTokens(subject: "mailto:ops@example.com")
        let now = Instant(seconds: 1_800_000_000)
        let authorization = try tokens.authorization(key, for: "https://push.example", now: now)
        let token = authorization.dropFirst("vapid t=".count).prefix { $0 != "," }
        let answers = try await PythonScript.lines(
            of: "webpush_open.py",
            arguments: ["verify"],
            input: "\(token) \(key.publicKey)\n\(token) \(other.publicKey)\n",
            environment: PythonScript.home
        )
        let claims = #"{"aud":"https://push.example","exp":1800043200,"sub":"mailto:ops@example.com"}"#
        #expect(answers == [#"{"typ":"JWT","alg":"ES256"} "# + claims, "no"])
    }

    /// Returns the secret number from the key's PKCS #8: the first octet string of 32 bytes.
    private static func secret(of key: PrivateKey) throws -> String {
        let text = String(decoding: try key.pem(), as: UTF8.self)
        let base64 = text.split(separator: "\n").filter { !$0.hasPrefix("-") }.joined()
        let der = try #require(
            Base64URL.decode(base64.replacing("+", with: "-").replacing("/", with: "_"))
        )
        let start = try #require(der.indices.first { der[$0] == 0x04 && der[$0 + 1] == 0x20 })
        return Base64URL.encode(Array(der[(start + 2)..<(start + 34)]))
    }
}
