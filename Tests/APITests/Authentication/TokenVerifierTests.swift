import API
import BellhopJSON
import BellhopRules
import Cryptography
import Foundation
import Testing

/// Forged tokens.
///
/// Each differs from a valid one in one respect.
@Suite("Tokens")
struct TokenVerifierTests {
    /// The change that an attack makes to a valid token.
    struct Forgery: Sendable, CustomTestStringConvertible {
        let name: String
        let fault: TokenError
        var header: [String: JSONValue] = [:]
        var claims: [String: JSONValue?] = [:]
        var testDescription: String { name }
    }

    private static let now = Timestamp(clamping: 1_800_000_000_000_000)

    private static let headerForgeries: [Forgery] = [
        Forgery(name: "alg none", fault: .key, header: ["alg": "none"]),
        Forgery(name: "alg None", fault: .key, header: ["alg": "None"]),
        Forgery(name: "another algorithm of the set", fault: .key, header: ["alg": "RS256"]),
        Forgery(name: "a keyed hash", fault: .key, header: ["alg": "HS256"]),
        Forgery(name: "an unknown key", fault: .key, header: ["kid": "nobody"]),
        Forgery(name: "an empty key name", fault: .key, header: ["kid": ""]),
        Forgery(name: "a key name that climbs", fault: .key, header: ["kid": "../../dev/null"]),
        Forgery(name: "a key name that is none", fault: .key, header: ["kid": 7]),
        Forgery(name: "its own key", fault: .header, header: ["jwk": ["kty": "EC"]]),
        Forgery(name: "its own key's place", fault: .header, header: ["jku": "https://evil.example/keys"]),
        Forgery(name: "its own certificate's place", fault: .header, header: ["x5u": "https://evil.example/pem"]),
        Forgery(name: "its own certificate", fault: .header, header: ["x5c": ["MII"]]),
        Forgery(name: "rules of its own", fault: .header, header: ["crit": ["b64"], "b64": false]),
    ]

    private static let claimForgeries: [Forgery] = [
        Forgery(name: "another audience", fault: .audience, claims: ["aud": "somebody"]),
        Forgery(name: "no audience", fault: .audience, claims: ["aud": nil]),
        Forgery(name: "an audience that begins alike", fault: .audience, claims: ["aud": "bellhop-staging"]),
        Forgery(name: "another issuer", fault: .issuer, claims: ["iss": "https://evil.example"]),
        Forgery(name: "no issuer", fault: .issuer, claims: ["iss": nil]),
        Forgery(name: "expired", fault: .expired, claims: ["exp": 1_799_999_940]),
        Forgery(name: "without an end", fault: .claim, claims: ["exp": nil]),
        Forgery(name: "an end that is a text", fault: .claim, claims: ["exp": "1900000000"]),
        Forgery(name: "not yet", fault: .early, claims: ["nbf": 1_800_000_061]),
        Forgery(name: "issued in the future", fault: .early, claims: ["iat": 1_800_000_061]),
        Forgery(name: "nobody", fault: .claim, claims: ["sub": nil]),
        Forgery(name: "a user with a NUL", fault: .claim, claims: ["sub": "a\u{0}b"]),
        Forgery(name: "a user who is a number", fault: .claim, claims: ["sub": 7]),
        Forgery(name: "no app", fault: .claim, claims: ["app": nil]),
        Forgery(name: "an app that is none", fault: .claim, claims: ["app": "Drop; --"]),
        Forgery(name: "an app that its key may not speak for", fault: .app, claims: ["app": "padel"]),
    ]

    private static let honestHeader: [String: JSONValue] = ["alg": "ES256", "typ": "JWT", "kid": "k1"]
    private static let honestClaims: [String: JSONValue] = [
        "sub": "ada", "app": "drop", "aud": "bellhop", "iss": "https://id.example", "exp": 1_800_000_600,
    ]

    private static func text(_ members: [String: JSONValue]) -> [UInt8] {
        JSONWriter.canonicalBytes(of: .object(JSONObject(members.map { ($0.key, $0.value) })))
    }

    private static func make(_ forgery: Forgery? = nil, _ key: PrivateKey) throws -> String {
        let header = honestHeader.merging(forgery?.header ?? [:]) { $1 }
        var claims = honestClaims
        for (name, value) in forgery?.claims ?? [:] { claims[name] = value }
        return try JSONWebToken.sign(header: text(header), claims: text(claims), algorithm: .es256, key: key)
    }

    private static func check(_ token: String, _ key: PrivateKey) throws -> Result<AuthenticatedUser, TokenError> {
        let drop = try #require(AppID(validating: "drop"))
        let keys = TokenKeySet([
            TokenKey(id: "k1", algorithm: .es256, key: try key.publicKey(), apps: [drop]),
            TokenKey(id: "k2", algorithm: .es256, key: try PrivateKey.generateP256().publicKey()),
        ])
        let rules = TokenRules(issuer: "https://id.example", audiences: ["bellhop"])
        return TrustedIssuers([.init(rules, keys: keys)]).check(token, at: now)
    }

    private static func fault(_ token: String, _ key: PrivateKey) throws -> TokenError? {
        guard case .failure(let fault) = try check(token, key) else { return nil }
        return fault
    }

    @Test("a valid token yields its user and its end, with the leeway")
    func honest() throws {
        let key = try PrivateKey.generateP256()
        let signedIn = try Self.check(try Self.make(nil, key), key).get()
        #expect(signedIn.app.text == "drop" && signedIn.user.text == "ada")
        #expect(signedIn.until == Timestamp(clamping: 1_800_000_660_000_000))
    }

    @Test("a token that differs in one respect is rejected for it", arguments: headerForgeries + claimForgeries)
    func forged(forgery: Forgery) throws {
        let key = try PrivateKey.generateP256()
        let found = try Self.fault(try Self.make(forgery, key), key)
        #expect(found == forgery.fault)
    }

    @Test("a list of audiences, and times within the leeway, are accepted")
    func leeway() throws {
        let key = try PrivateKey.generateP256()
        let changes: [[String: JSONValue?]] = [
            ["aud": ["somebody", "bellhop"]], ["exp": 1_799_999_941], ["nbf": 1_800_000_060, "iat": 1_800_000_060],
        ]
        for change in changes {
            let token = try Self.make(Forgery(name: "", fault: .claim, claims: change), key)
            let found = try Self.fault(token, key)
            #expect(found == nil)
        }
    }

    @Test("a token whose signature is missing, or belongs to another key or other claims, is rejected")
    func signatures() throws {
        let key = try PrivateKey.generateP256()
        let token = try Self.make(nil, key)
        let parts = token.split(separator: ".").map(String.init)
        let other = Base64URL.encode(Self.text(Self.honestClaims.merging(["sub": "bob"]) { $1 }))
        let forged: [(String, TokenError)] = [
            (try Self.make(nil, PrivateKey.generateP256()), .signature),
            ("\(parts[0]).\(other).\(parts[2])", .signature),
            ("\(parts[0]).\(parts[1]).", .signature), ("\(parts[0]).\(parts[1])", .malformed),
            (token + ".x", .malformed), ("", .malformed), ("...", .malformed), ("a.b.c", .malformed),
            (token + "=", .signature),
        ]
        for (token, fault) in forged {
            let found = try Self.fault(token, key)
            #expect(found == fault)
        }
    }

    @Test("a token that is signed with the public key as a shared secret is rejected")
    func confusion() throws {
        let key = try PrivateKey.generateP256()
        let point = try key.p256Point()
        let header = Base64URL.encode(Self.text(Self.honestHeader.merging(["alg": "HS256"]) { $1 }))
        let input = header + "." + Base64URL.encode(Self.text(Self.honestClaims))
        let token = input + "." + Base64URL.encode(HMAC.sha256(of: Array(input.utf8), key: point))
        let found = try Self.fault(token, key)
        #expect(found == .key)
    }

    @Test("a duplicate member in the header or the claims is rejected")
    func doubled() throws {
        let key = try PrivateKey.generateP256()
        let header = Self.text(Self.honestHeader)
        let claims = Self.text(Self.honestClaims)
        let twice = Array(#"{"sub":"bob","#.utf8) + claims.dropFirst()
        let twiceHeader = Array(#"{"kid":"k2","#.utf8) + header.dropFirst()
        for (header, claims) in [(header, twice), (twiceHeader, claims)] {
            let token = try JSONWebToken.sign(header: header, claims: claims, algorithm: .es256, key: key)
            let found = try Self.fault(token, key)
            #expect(found == .malformed)
        }
    }

    @Test("a token of more than 8 KiB is rejected without being read")
    func oversized() throws {
        let key = try PrivateKey.generateP256()
        let padding: [String: JSONValue?] = ["pad": .string(String(repeating: "x", count: 8_192))]
        let found = try Self.fault(try Self.make(Forgery(name: "", fault: .tooLong, claims: padding), key), key)
        #expect(found == .tooLong)
    }

    @Test("claims beyond the range of integers affect only their own token")
    func extremes() throws {
        let key = try PrivateKey.generateP256()
        for end in ["1e300", "-1e300", "1e999", "99999999999999999999"] {
            let claims = #"{"app":"drop","aud":"bellhop","exp":\#(end),"iss":"https://id.example","sub":"ada"}"#
            let token = try JSONWebToken.sign(
                header: Self.text(Self.honestHeader),
                claims: Array(claims.utf8),
                algorithm: .es256,
                key: key
            )
            let isAccepted = try Self.fault(token, key) == nil
            #expect(isAccepted == ["1e300", "99999999999999999999"].contains(end))
        }
    }
}
