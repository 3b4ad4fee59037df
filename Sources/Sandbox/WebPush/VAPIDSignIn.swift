import BellhopRules
import Cryptography
import ServiceRuntime

/// A sender's parsed authorization by RFC 8292: `vapid t=<token>, k=<key>`.
struct VAPIDSignIn {
    let token: Assertion
    /// The key in base64url, unchanged.
    let key: String
    private let point: [UInt8]

    init(_ header: String?) throws(WebPushError) {
        guard let header else { throw .unauthorized("Missing Authorization Header") }
        let parts = header.split(separator: " ", maxSplits: 1)
        guard parts.count == 2, parts[0].lowercased() == "vapid" else {
            throw .unauthorized("Unsupported authorization scheme")
        }
        var parameters: [Substring: Substring] = [:]
        for part in parts[1].split(separator: ",") {
            let word = part.drop { $0 == " " }.split(separator: "=", maxSplits: 1)
            guard word.count == 2, parameters.updateValue(word[1], forKey: word[0]) == nil else {
                throw .unauthorized("The authorization's parameters cannot be read")
            }
        }
        guard let key = parameters["k"].map(String.init), let point = Base64URL.decode(key), point.count == 65,
            !key.hasSuffix("=")
        else { throw .unauthorized("k must be a public key of 65 bytes in base64url without padding") }
        guard let token = parameters["t"].flatMap({ Assertion(String($0)) }) else {
            throw .unauthorized("t must be a JSON Web Token")
        }
        self.token = token
        self.key = key
        self.point = point
    }

    /// Throws the error with which a push service at `origin` would reject the authorization.
    func check(origin: String, now: Instant) throws(WebPushError) {
        guard token.header["alg"]?.string == "ES256", token.header["typ"]?.string == "JWT" else {
            throw .unauthorized("The token must be a JWT signed with ES256")
        }
        guard BrowserKey.isES256(token.signature, of: token.signed, by: point) else {
            throw .unauthorized("The token's signature is not the one of k")
        }
        guard token.claims["aud"]?.string == origin else {
            throw .unauthorized("The token's aud must be the endpoint's origin")
        }
        guard let expires = token.claims["exp"]?.number?.int64.map(Instant.init(seconds:)), expires > now else {
            throw .unauthorized("The token has expired, or does not say when it does")
        }
        guard expires <= now + .seconds(86_400) else { throw .unauthorized("The token's exp is more than 24 h ahead") }
        let subject = token.claims["sub"]?.string ?? ""
        let isAddress = subject.hasPrefix("mailto:") || subject.hasPrefix("https://")
        guard isAddress, !subject.contains(where: { " <>".contains($0) }), !subject.hasSuffix("localhost") else {
            throw .unauthorized("The token's sub must be a mailto: or https: URL")
        }
    }

    /// The recorded form, without the signature.
    var json: JSONValue { ["header": .object(token.header), "claims": .object(token.claims), "key": .string(key)] }
}
