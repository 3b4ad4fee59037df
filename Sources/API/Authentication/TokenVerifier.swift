import BellhopJSON
package import BellhopRules
import Cryptography

/// The user that a token signs in, and the instant until which it is valid.
package struct AuthenticatedUser: Hashable, Sendable {
    package let app: AppID
    package let user: UserID
    package let until: Timestamp
    /// When the token was issued (`iat`), or `nil` if the claim is absent.
    package let issuedAt: Timestamp?
}

/// Checks tokens against an installation's requirements.
///
/// It has no state, and the keys are a parameter.
package struct TokenVerifier: Sendable {
    private let audience: String
    private let issuer: String?

    /// Creates a verifier.
    ///
    /// If `issuer` is `nil`, any issuer is accepted whose key is in the set.
    package init(audience: String, issuer: String? = nil) {
        self.audience = audience
        self.issuer = issuer
    }

    /// The maximum size of a token in bytes.
    package static let longest = 8 * 1_024
    /// The allowed clock difference in seconds.
    static let leeway = 60.0

    /// Header members that would let a token choose the rules of its check (RFC 7515 §4.1).
    private static let forbidden = ["jwk", "jku", "x5u", "x5c", "crit"]

    /// Returns the user of a token, or the reason why the token is rejected.
    package func check(_ token: String, with keys: TokenKeySet, at now: Timestamp) -> Result<
        AuthenticatedUser, TokenError
    > {
        do throws(TokenError) {
            return .success(try accept(token, keys, now))
        } catch {
            return .failure(error)
        }
    }

    private func accept(_ token: String, _ keys: TokenKeySet, _ now: Timestamp) throws(TokenError) -> AuthenticatedUser
    {
        guard token.utf8.count <= Self.longest else { throw .tooLong }
        let parts = token.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 3, let header = Self.object(Base64URL.decode(String(Substring(parts[0])))) else {
            throw .malformed
        }
        guard Self.forbidden.allSatisfy({ header[$0] == nil }) else { throw .header }
        guard let name = header["kid"]?.string, let key = keys[name],
            header["alg"]?.string == key.algorithm.rawValue
        else { throw .key }
        guard let read = JSONWebToken(verifying: token, algorithm: key.algorithm, key: key.key) else {
            throw .signature
        }
        guard let claims = Self.object(read.claims) else { throw .malformed }
        let until = try lifetime(claims, now)
        try expect(claims)
        guard let app = claims["app"]?.string.flatMap(AppID.init(validating:)),
            let user = claims["sub"]?.string.flatMap(UserID.init(validating:))
        else { throw .claim }
        guard key.speaks(for: app) else { throw .app }
        let issuedAt = try Self.date("iat", claims).map(Self.timestamp)
        return AuthenticatedUser(app: app, user: user, until: until, issuedAt: issuedAt)
    }

    /// Returns the instant until which the token is valid.
    ///
    /// Throws if the token has expired or is not valid yet.
    private func lifetime(_ claims: JSONObject, _ now: Timestamp) throws(TokenError) -> Timestamp {
        let seconds = Double(now.microseconds) / 1_000_000
        guard let end = try Self.date("exp", claims) else { throw .claim }
        guard seconds < end + Self.leeway else { throw .expired }
        for claim in ["nbf", "iat"] {
            if let start = try Self.date(claim, claims), start > seconds + Self.leeway { throw .early }
        }
        return Self.timestamp(end + Self.leeway)
    }

    /// Converts seconds.
    ///
    /// They are clamped first, since a claim may exceed every integer.
    private static func timestamp(_ seconds: Double) -> Timestamp {
        Timestamp(clamping: Int64(min(max(seconds, 0), 253_402_300_799) * 1_000_000))
    }

    private func expect(_ claims: JSONObject) throws(TokenError) {
        let audiences: [JSONValue] =
            switch claims["aud"] {
            case .string(let one)?: [.string(one)]
            case .array(let several)?: several
            default: []
            }
        guard audiences.contains(.string(audience)) else { throw .audience }
        if let issuer, claims["iss"] != .string(issuer) { throw .issuer }
    }

    /// Returns the claim in seconds since 1970, or `nil` if it is absent.
    private static func date(_ claim: String, _ claims: JSONObject) throws(TokenError) -> Double? {
        guard let value = claims[claim] else { return nil }
        guard let date = value.number?.double else { throw .claim }
        return date
    }

    /// Parses strict JSON without duplicate members.
    private static func object(_ bytes: [UInt8]?) -> JSONObject? {
        guard let bytes else { return nil }
        let parser = JSONParser(limits: JSONParser.Limits(bytes: longest, depth: 8))
        guard case .success(.object(let object)) = parser.parse(bytes) else { return nil }
        return object
    }
}

/// The reason why a token is rejected.
///
/// The raw values are labels of a metric and are never sent to clients.
///
/// A client only learns that its token is invalid, and nothing that would help to forge one.
package enum TokenError: String, CaseIterable, Error, Hashable, Sendable {
    /// No `Authorization: Bearer`, or more than one.
    case missing
    /// Longer than any token that Bellhop accepts.
    case tooLong = "too-long"
    /// Not three parts of JSON, or with duplicate members.
    case malformed
    /// The header contains a key, or requires unknown rules.
    case header
    /// No key of the set has its name, or the key has another algorithm.
    case key
    case signature
    /// A required claim is missing or has another form.
    case claim
    case expired
    /// Not valid yet, or issued in the future.
    case early
    case audience
    case issuer
    /// Its key is not valid for the app.
    case app
    /// It was issued before its user was erased.
    case erased
}
