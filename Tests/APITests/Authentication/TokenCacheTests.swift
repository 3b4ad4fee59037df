import API
import BellhopRules
import Cryptography
import Testing

@Suite("Cache of accepted tokens")
struct TokenCacheTests {
    private static let now = Timestamp(clamping: 1_800_000_000_000_000)

    private static func later(_ seconds: Int64) -> Timestamp {
        Timestamp(clamping: now.microseconds + seconds * 1_000_000)
    }

    private static func token(_ issuer: TokenIssuer, _ user: String = "ada") throws -> String {
        try issuer.token(
            app: try #require(AppID(validating: "drop")),
            user: try #require(UserID(validating: user)),
            TokenIssuer.Terms(audience: "bellhop", issuedAt: now, expiresAt: later(600))
        )
    }

    private static func keys(_ issuer: TokenIssuer) throws -> TrustedIssuers {
        let keys = try TokenKeySet.read(issuer.keySet, file: "test").get()
        return TrustedIssuers([.init(TokenRules(audiences: ["bellhop"]), keys: keys)])
    }

    @Test("a cached token identifies the same user until it ends, including the leeway")
    func again() throws {
        let issuer = try TokenIssuer(key: .generateP256())
        let (keys, token) = (try Self.keys(issuer), try Self.token(issuer))
        let memory = TokenCache()
        for instant in [Self.now, Self.later(1), Self.later(659)] {
            let found = memory.check(token, with: keys, at: instant)
            #expect(try found.get().user.text == "ada")
        }
        #expect(memory.count == 1)
        let ended = memory.check(token, with: keys, at: Self.later(660))
        #expect(ended == .failure(.expired))
    }

    @Test("a new key set empties the cache of the old one, and a rejected token is never cached")
    func otherKeys() throws {
        let (first, second) = (try TokenIssuer(key: .generateP256()), try TokenIssuer(key: .generateP256()))
        let token = try Self.token(first)
        let memory = TokenCache()
        _ = memory.check(token, with: try Self.keys(first), at: Self.now)
        let refused = memory.check(token, with: try Self.keys(second), at: Self.now)
        #expect(refused == .failure(.key))
        let other = try Self.keys(second)
        _ = memory.check(try Self.token(second), with: other, at: Self.now)
        #expect(memory.count == 1)
        let again = memory.check(token, with: other, at: Self.now)
        #expect(again == .failure(.key) && memory.count == 1)
    }

    @Test("a token that differs in one letter is checked as another token")
    func altered() throws {
        let issuer = try TokenIssuer(key: .generateP256())
        let (keys, token) = (try Self.keys(issuer), try Self.token(issuer))
        let memory = TokenCache()
        _ = memory.check(token, with: keys, at: Self.now)
        for place in stride(from: 0, to: token.utf8.count, by: 7) {
            var bytes = Array(token.utf8)
            bytes[place] = bytes[place] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
            let altered = String(decoding: bytes, as: UTF8.self)
            let found = memory.check(altered, with: keys, at: Self.now)
            let direct = keys.check(altered, at: Self.now)
            #expect(found == direct)
        }
    }

    @Test("the cache holds at most two generations of tokens, and a token that is used repeatedly stays")
    func bounded() throws {
        let issuer = try TokenIssuer(key: .generateP256())
        let keys = try Self.keys(issuer)
        let memory = TokenCache(capacity: 3)
        let (used, once) = (try Self.token(issuer), try Self.token(issuer, "grace"))
        _ = memory.check(once, with: keys, at: Self.now)
        for number in 0..<20 {
            for token in [used, try Self.token(issuer, "user\(number)")] {
                _ = memory.check(token, with: keys, at: Self.now)
            }
            #expect(memory.count <= 6)
            #expect(memory.contains(used))
        }
        #expect(!memory.contains(once))
    }
}
