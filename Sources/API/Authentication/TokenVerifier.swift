package import BellhopJSON
package import BellhopRules
import Cryptography
import ServiceRuntime

/// The user that a token signs in, and the instants at which it ends.
package struct AuthenticatedUser: Hashable, Sendable {
    package let app: AppID
    package let user: UserID
    /// The instant at which the token expires (`exp`).
    package let expiresAt: Timestamp
    /// The instant until which calls are accepted, which adds the issuer's leeway.
    package let until: Timestamp
    /// When the token was issued (`iat`), or `nil` if the claim is absent.
    package let issuedAt: Timestamp?
}

/// The requirements for the tokens of one issuer.
package struct TokenRules: Sendable {
    /// The required `iss`; `nil` accepts any issuer that signs with a key of the set.
    package var issuer: String?
    /// The accepted audiences; `aud` must contain one of them.
    package var audiences: [String]
    /// The app of tokens without an app; a token with an app must name the same one.
    ///
    /// If it is `nil`, tokens must name their app.
    package var app: AppID?
    /// The place of the user's id among the claims.
    package var user = JSONPointer.root.key("sub")
    /// The place of the app among the claims.
    package var appClaim = JSONPointer.root.key("app")
    /// The allowed clock difference.
    package var leeway = usualLeeway

    package static let usualLeeway = Duration.seconds(60)

    package init(issuer: String? = nil, audiences: [String], app: AppID? = nil) {
        self.issuer = issuer
        self.audiences = audiences
        self.app = app
    }
}

/// Checks tokens against the requirements for one issuer.
///
/// It has no state, and the keys are a parameter.
package struct TokenVerifier: Sendable {
    package let rules: TokenRules
    private let leeway: Double

    package init(_ rules: TokenRules) {
        self.rules = rules
        leeway = Double(rules.leeway.microseconds) / 1_000_000
    }

    /// The maximum size of a token in bytes.
    package static let longest = 8 * 1_024

    /// Whether a token names the issuer of these rules, or the rules accept any issuer.
    func covers(_ token: UnverifiedToken) -> Bool {
        rules.issuer.map { token.claims["iss"] == .string($0) } ?? true
    }

    /// Returns the user of a token; throws the reason if the token is rejected.
    ///
    /// `keys` is `nil` if the issuer's keys have not been fetched yet.
    func check(_ token: UnverifiedToken, with keys: TokenKeySet?, at now: Timestamp) throws(TokenError)
        -> AuthenticatedUser
    {
        guard covers(token) else { throw .issuer }
        guard let keys else { throw .unavailable }
        guard let name = token.keyID, let key = keys[name], token.algorithm == key.algorithm.rawValue else {
            throw .key
        }
        guard JSONWebToken(verifying: token.text, algorithm: key.algorithm, key: key.key) != nil else {
            throw .signature
        }
        // The signature covers the claims, which are trusted from here on.
        let end = try end(of: token.claims, now)
        guard isAudience(token.claims) else { throw .audience }
        let claims = JSONValue.object(token.claims)
        let app = try app(claims)
        guard let user = rules.user.value(in: claims)?.string.flatMap(UserID.init(validating:)) else { throw .claim }
        guard key.speaks(for: app) else { throw .app }
        return AuthenticatedUser(
            app: app,
            user: user,
            expiresAt: Self.timestamp(end),
            until: Self.timestamp(end + leeway),
            issuedAt: try Self.date("iat", token.claims).map(Self.timestamp)
        )
    }

    /// Returns the app for which a token speaks.
    private func app(_ claims: JSONValue) throws(TokenError) -> AppID {
        let claim = rules.appClaim.value(in: claims)
        if let app = rules.app, claim == nil { return app }
        guard let app = claim?.string.flatMap(AppID.init(validating:)) else { throw .claim }
        guard rules.app == nil || rules.app == app else { throw .app }
        return app
    }

    /// Returns the end of a token in seconds since 1970; throws if it has expired or is not valid yet.
    private func end(of claims: JSONObject, _ now: Timestamp) throws(TokenError) -> Double {
        let seconds = Double(now.microseconds) / 1_000_000
        guard let end = try Self.date("exp", claims) else { throw .claim }
        guard seconds < end + leeway else { throw .expired }
        for claim in ["nbf", "iat"] {
            if let start = try Self.date(claim, claims), start > seconds + leeway { throw .early }
        }
        return end
    }

    /// Converts seconds.
    ///
    /// They are clamped first, since a claim may exceed every integer.
    private static func timestamp(_ seconds: Double) -> Timestamp {
        Timestamp(clamping: Int64(min(max(seconds, 0), 253_402_300_799) * 1_000_000))
    }

    /// Whether the claims name one of the accepted audiences.
    private func isAudience(_ claims: JSONObject) -> Bool {
        let named: [JSONValue] =
            switch claims["aud"] {
            case .string(let one)?: [.string(one)]
            case .array(let several)?: several
            default: []
            }
        return rules.audiences.contains { named.contains(.string($0)) }
    }

    /// Returns the claim in seconds since 1970, or `nil` if it is absent.
    private static func date(_ claim: String, _ claims: JSONObject) throws(TokenError) -> Double? {
        guard let value = claims[claim] else { return nil }
        guard let date = value.number?.double else { throw .claim }
        return date
    }
}
