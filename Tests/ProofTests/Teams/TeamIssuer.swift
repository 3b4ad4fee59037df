import BellhopJSON
import Cryptography
import Foundation

/// A team's sign-in service: one key, and tokens in the shape that the service issues.
struct TeamIssuer: Sendable {
    let app: String
    let issuer: String
    let audience: String
    /// The claims of a token in addition to issuer, audience, user and times.
    let claims: JSONObject
    private let key: PrivateKey

    private init(_ app: String, _ issuer: String, _ audience: String, _ claims: JSONObject = JSONObject()) throws {
        self.app = app
        self.issuer = issuer
        self.audience = audience
        self.claims = claims
        key = try PrivateKey.generateP256()
    }

    static func supabase(_ app: String) throws -> TeamIssuer {
        try TeamIssuer(
            app,
            "https://abcdefghijklmnopqrst.supabase.co/auth/v1",
            "authenticated",
            [
                "role": "authenticated", "aal": "aal1", "session_id": "8a5cbe2c-33e6-4d7e-8bd2-4f6f0b1f9d8e",
                "email": "ada@example.com", "phone": "", "is_anonymous": false,
                "app_metadata": ["provider": "email", "providers": ["email"]], "user_metadata": ["name": "Ada"],
            ]
        )
    }

    static func firebase(_ app: String) throws -> TeamIssuer {
        try TeamIssuer(
            app,
            "https://securetoken.google.com/\(app)-project",
            "\(app)-project",
            ["email_verified": true, "firebase": ["identities": [:], "sign_in_provider": "password"]]
        )
    }

    static func own(_ app: String) throws -> TeamIssuer {
        try TeamIssuer(app, "https://id.\(app).example", "bellhop")
    }

    /// Returns a token that is valid for ten minutes.
    func token(_ user: String) throws -> String {
        let now = Int64(Date().timeIntervalSince1970)
        var claims = claims
        claims["iss"] = .string(issuer)
        claims["aud"] = .string(audience)
        claims["sub"] = .string(user)
        claims["iat"] = .number(JSONNumber(now))
        claims["exp"] = .number(JSONNumber(now + 600))
        let header: JSONObject = ["alg": "ES256", "typ": "JWT", "kid": "team"]
        return try JSONWebToken.sign(
            header: JSONWriter.canonicalBytes(of: .object(header)),
            claims: JSONWriter.canonicalBytes(of: .object(claims)),
            algorithm: .es256,
            key: key
        )
    }

    /// The service's public key set, and the entry for it in the file of `BELLHOP_SIGN_IN`.
    func write(to folder: URL) throws -> String {
        let point = try key.p256Point()
        let publicKey: JSONValue = [
            "kty": "EC", "crv": "P-256", "use": "sig", "alg": "ES256", "kid": "team",
            "x": .string(Base64URL.encode(Array(point[1..<33]))), "y": .string(Base64URL.encode(Array(point[33...]))),
        ]
        let keys = folder.appendingPathComponent("team-keys.json")
        try Data(JSONWriter.canonicalBytes(of: ["keys": [publicKey]])).write(to: keys)
        let file = folder.appendingPathComponent("sign-in.json5")
        let entry = #"{issuer: "\#(issuer)", audience: "\#(audience)", keys: "team-keys.json", app: "\#(app)"}"#
        try Data("{issuers: [\(entry)]}".utf8).write(to: file)
        return file.path
    }
}
