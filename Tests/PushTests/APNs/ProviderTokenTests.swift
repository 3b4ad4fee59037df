import BellhopRules
import Cryptography
import Push
import ServiceRuntime
import TestSupport
import Testing

@Suite("APNs' provider tokens")
struct ProviderTokenTests {
    private let time = ManualTime(Instant(microseconds: 1_771_163_100_999_999))
    private let log = CapturedLog()

    private func tokens() throws -> ProviderTokens {
        try ProviderTokens(TestKey.apple(), time: time, logger: Logger(label: "push", level: .debug, sink: log))
    }

    private func refusal(_ result: Result<ProviderToken, ProviderTokenRefusal>) -> VerdictReason? {
        guard case .failure(let refusal) = result else { return nil }
        return refusal.reason
    }

    @Test("a token names key and team, is issued in whole seconds, and is signed with the key")
    func content() throws {
        let token = try tokens().token().get()
        let text = token.secret.revealed
        let key = try PrivateKey(pem: Array(TestKey.ellipticPEM.utf8)).publicKey()
        let read = try #require(JSONWebToken(verifying: text, algorithm: .es256, key: key))
        #expect(String(decoding: read.header, as: UTF8.self) == #"{"alg":"ES256","kid":"KEY1234567"}"#)
        #expect(String(decoding: read.claims, as: UTF8.self) == #"{"iat":1771163100,"iss":"TEAM123456"}"#)
        #expect(token.authorization == "bearer " + text)
    }

    @Test("no text shows a token or a key")
    func secrecy() throws {
        let tokens = try tokens()
        let token = try tokens.token().get()
        let signature = try #require(token.secret.revealed.split(separator: ".").last)
        var dumped = "\(token) \(String(reflecting: token)) "
        dump(token, to: &dumped)
        dump(try TestKey.apple(), to: &dumped)
        tokens.pause()
        _ = tokens.token(insteadOf: token)
        dumped += log.lines().joined()
        #expect(!dumped.contains(signature))
        let secret = TestKey.ellipticPEM.split(separator: "\n")[1]
        #expect(!dumped.contains(secret))
    }

    @Test("a token is used for 50 minutes, and then replaced")
    func age() throws {
        let tokens = try tokens()
        let first = try tokens.token().get()
        // It was issued in the whole second.
        time.set(to: Instant(seconds: 1_771_163_100 + 2_999))
        #expect(try tokens.token().get() == first)
        time.advance(by: .seconds(1))
        let second = try tokens.token().get()
        #expect(second != first)
        #expect(try tokens.token().get() == second)
    }

    @Test("a hundred concurrent requests for the first token get the same one")
    func singleFlight() async throws {
        let tokens = try tokens()
        let texts = await withTaskGroup(of: String?.self) { group in
            for _ in 0..<100 { group.addTask { try? tokens.token().get().secret.revealed } }
            return await group.reduce(into: Set<String?>()) { $0.insert($1) }
        }
        #expect(texts.count == 1 && texts.first != .some(nil))
    }

    @Test("a token that APNs reports as expired is replaced after 20 minutes, once for all requests")
    func replaced() throws {
        let tokens = try tokens()
        let stale = try tokens.token().get()
        time.set(to: Instant(seconds: 1_771_163_100 + 1_200))
        let fresh = try tokens.token(insteadOf: stale).get()
        #expect(fresh != stale)
        // A later request gets the token that was signed meanwhile.
        #expect(try tokens.token(insteadOf: stale).get() == fresh)
        #expect(try tokens.token().get() == fresh)
        #expect(refusal(tokens.token(insteadOf: fresh)) == .expiredProviderToken)
    }

    @Test("a younger token stays, because a clock is wrong, and the log reports it")
    func clockSkew() throws {
        let tokens = try tokens()
        let token = try tokens.token().get()
        time.set(to: Instant(seconds: 1_771_163_100 + 1_199))
        #expect(refusal(tokens.token(insteadOf: token)) == .expiredProviderToken)
        #expect(try tokens.token().get() == token)
        #expect(log.lines().contains { $0.contains("clock") })
    }

    @Test("after too many updates all requests pause for 20 minutes, and the token stays")
    func pause() throws {
        let tokens = try tokens()
        let token = try tokens.token().get()
        tokens.pause()
        #expect(refusal(tokens.token()) == .tooManyProviderTokenUpdates)
        #expect(refusal(tokens.token(insteadOf: token)) == .tooManyProviderTokenUpdates)
        time.advance(by: .seconds(1_199))
        #expect(refusal(tokens.token()) == .tooManyProviderTokenUpdates)
        time.advance(by: .seconds(1))
        #expect(try tokens.token().get() == token)
    }

    @Test("a clock that is set back causes neither an endless pause nor tokens from the future")
    func clockSetBack() throws {
        let tokens = try tokens()
        let token = try tokens.token().get()
        tokens.pause()
        time.advance(by: .seconds(-7_200))
        let earlier = try tokens.token().get()
        #expect(earlier != token)
        time.advance(by: .seconds(-30))
        #expect(try tokens.token().get() == earlier)
    }
}
