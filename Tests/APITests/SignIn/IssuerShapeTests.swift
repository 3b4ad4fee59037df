import BellhopJSON
import BellhopRules
import Testing

@testable import API

/// Tokens with the claims that common services issue.
@Suite("Tokens of other sign-in services")
struct IssuerShapeTests {
    /// A service's token, and the entry of the file of issuers that its recipe shows.
    struct Service: Sendable, CustomTestStringConvertible {
        let name: String
        let issuer: String
        let audience: String
        let claims: JSONObject
        let user: String
        var app: String? = "padel"
        var appClaim: String?
        var userClaim: String?
        var testDescription: String { name }

        func rules() throws -> TokenRules {
            let app = app.flatMap(AppID.init(validating:))
            var rules = TokenRules(issuer: issuer, audiences: ["other", audience], app: app)
            if let appClaim { rules.appClaim = try #require(JSONPointer(appClaim)) }
            if let userClaim { rules.user = try #require(JSONPointer(userClaim)) }
            return rules
        }
    }

    private static let supabase = Service(
        name: "Supabase",
        issuer: "https://abcdefghijklmnopqrst.supabase.co/auth/v1",
        audience: "authenticated",
        claims: [
            "iss": "https://abcdefghijklmnopqrst.supabase.co/auth/v1", "aud": "authenticated",
            "sub": "8f3f6d3c-2f0c-4a39-9d0e-2f6ec1f0a6b1", "iat": 1_799_999_900, "role": "authenticated",
            "aal": "aal1", "session_id": "8a5cbe2c-33e6-4d7e-8bd2-4f6f0b1f9d8e", "email": "ada@example.com",
            "phone": "", "is_anonymous": false, "amr": [["method": "password", "timestamp": 1_799_999_900]],
            "app_metadata": ["provider": "email", "providers": ["email"]], "user_metadata": ["name": "Ada"],
        ],
        user: "8f3f6d3c-2f0c-4a39-9d0e-2f6ec1f0a6b1"
    )
    private static let firebase = Service(
        name: "Firebase",
        issuer: "https://securetoken.google.com/padel-club",
        audience: "padel-club",
        claims: [
            "iss": "https://securetoken.google.com/padel-club", "aud": "padel-club", "auth_time": 1_799_999_000,
            "user_id": "Zb1kS0vQHfWmP3y7nCqXa2LrT8J2", "sub": "Zb1kS0vQHfWmP3y7nCqXa2LrT8J2", "iat": 1_799_999_900,
            "email": "ada@example.com", "email_verified": true,
            "firebase": ["identities": ["email": ["ada@example.com"]], "sign_in_provider": "password"],
        ],
        user: "Zb1kS0vQHfWmP3y7nCqXa2LrT8J2"
    )
    private static let auth0 = Service(
        name: "Auth0",
        issuer: "https://example.eu.auth0.com/",
        audience: "https://api.example.com",
        claims: [
            "iss": "https://example.eu.auth0.com/", "sub": "auth0|65f1c0a1b2c3d4e5f6a7b8c9",
            "aud": ["https://api.example.com", "https://example.eu.auth0.com/userinfo"], "iat": 1_799_999_900,
            "azp": "my_client_id", "scope": "openid profile email", "https://example.com/app": "padel",
        ],
        user: "auth0|65f1c0a1b2c3d4e5f6a7b8c9",
        app: nil,
        appClaim: "/https:~1~1example.com~1app"
    )
    private static let keycloak = Service(
        name: "Keycloak",
        issuer: "https://id.example.com/realms/club",
        audience: "bellhop",
        claims: [
            "iss": "https://id.example.com/realms/club", "aud": ["bellhop", "account"], "typ": "Bearer",
            "jti": "onrtac:0f0c", "iat": 1_799_999_900, "azp": "web", "sid": "b1", "acr": "1", "scope": "openid",
            "sub": "3c1b2a90-0000-4000-8000-000000000001", "preferred_username": "ada",
            "realm_access": ["roles": ["offline_access"]],
            "resource_access": ["account": ["roles": ["manage-account", "view-profile"]]],
            "tenant": ["app": "padel", "user": "ada-7"],
        ],
        user: "ada-7",
        app: nil,
        appClaim: "/tenant/app",
        userClaim: "/tenant/user"
    )
    static let services = [supabase, firebase, auth0, keycloak]

    private static func check(_ token: String, _ rules: [TokenRules], _ issuer: TestIssuer) throws -> Result<
        AuthenticatedUser, TokenError
    > {
        let keys = try issuer.keys()
        return TrustedIssuers(rules.map { .init($0, keys: keys) }).check(token, at: TestIssuer.now)
    }

    @Test("a token signs in its user of the configured app", arguments: services)
    func accepted(service: Service) throws {
        let issuer = try TestIssuer()
        let found = try Self.check(try issuer.token(service.claims), [try service.rules()], issuer).get()
        #expect(found.user.text == service.user && found.app.text == "padel")
    }

    @Test("a token that names another app, audience or issuer is refused", arguments: services)
    func refused(service: Service) throws {
        let issuer = try TestIssuer()
        let pointer = try service.rules().appClaim
        var otherApp = service.claims
        if service.app != nil { otherApp[pointer.steps[0]] = "drop" }
        var otherRules = try service.rules()
        otherRules.app = AppID(validating: service.app == nil ? "drop" : "padel")
        let app = try Self.check(try issuer.token(otherApp), [otherRules], issuer)
        #expect(app == .failure(.app))
        for (member, fault) in [("aud", TokenError.audience), ("iss", .issuer)] {
            var claims = service.claims
            claims[member] = .string("https://evil.example")
            let found = try Self.check(try issuer.token(claims), [try service.rules()], issuer)
            #expect(found == .failure(fault))
        }
    }

    @Test("several issuers are trusted together, and each one only with its own keys")
    func together() throws {
        let issuers = try Self.services.map { _ in try TestIssuer(keyID: "same-name") }
        let trusted = TrustedIssuers(
            try zip(Self.services, issuers).map { .init(try $0.rules(), keys: try $1.keys()) }
        )
        for (service, issuer) in zip(Self.services, issuers) {
            let found = try trusted.check(try issuer.token(service.claims), at: TestIssuer.now).get()
            #expect(found.user.text == service.user)
        }
        // A token of the first service, signed by the second one.
        let forged = trusted.check(try issuers[1].token(Self.services[0].claims), at: TestIssuer.now)
        #expect(forged == .failure(.signature))
    }

    @Test("one issuer may have an entry for each of two audiences, whose apps differ")
    func audiences() throws {
        let issuer = try TestIssuer()
        var drop = try Self.firebase.rules()
        drop.audiences = ["drop-club"]
        drop.app = AppID(validating: "drop")
        let rules = [drop, try Self.firebase.rules()]
        let padel = try Self.check(try issuer.token(Self.firebase.claims), rules, issuer).get()
        var claims = Self.firebase.claims
        claims["aud"] = "drop-club"
        let other = try Self.check(try issuer.token(claims), rules, issuer).get()
        #expect(padel.app.text == "padel" && other.app.text == "drop")
    }

    @Test("a token without an app is refused if its issuer has none")
    func appRequired() throws {
        let issuer = try TestIssuer()
        var rules = try Self.supabase.rules()
        rules.app = nil
        let found = try Self.check(try issuer.token(Self.supabase.claims), [rules], issuer)
        #expect(found == .failure(.claim))
    }

    @Test("the leeway of an issuer shifts the end of its tokens")
    func leeway() throws {
        let issuer = try TestIssuer()
        var rules = try Self.supabase.rules()
        rules.leeway = .seconds(5)
        for (end, isAccepted) in [(1_799_999_996, true), (1_799_999_995, false)] as [(Int64, Bool)] {
            var claims = Self.supabase.claims
            claims["exp"] = .number(JSONNumber(end))
            let found = try? Self.check(try issuer.token(claims), [rules], issuer).get()
            #expect((found != nil) == isAccepted)
            guard let found else { continue }
            #expect(found.until.microseconds - found.expiresAt.microseconds == 5_000_000)
        }
    }

    @Test("a token whose issuer has no keys yet is not refused for good")
    func unavailable() throws {
        let issuer = try TestIssuer()
        let source = RemoteKeySource(url: "https://id.example/keys")
        let trusted = TrustedIssuers([.init(try Self.supabase.rules(), keys: nil, source: source)])
        let token = try issuer.token(Self.supabase.claims)
        let found = trusted.check(token, at: TestIssuer.now)
        #expect(found == .failure(.unavailable))
        #expect(trusted.sources(lackingKeyOf: token) == [source])
    }

    @Test("only an issuer that a token names is asked for its unknown key")
    func lacking() throws {
        let issuer = try TestIssuer()
        let source = RemoteKeySource(url: "https://id.example/keys")
        let trusted = TrustedIssuers([.init(try Self.supabase.rules(), keys: try issuer.keys(), source: source)])
        let known = try issuer.token(Self.supabase.claims)
        let unknown = try issuer.token(Self.supabase.claims, keyID: "k2")
        let foreign = try issuer.token(Self.firebase.claims, keyID: "k2")
        #expect(trusted.sources(lackingKeyOf: unknown) == [source])
        for token in [known, foreign, "a.b.c"] { #expect(trusted.sources(lackingKeyOf: token).isEmpty) }
    }
}
