import BellhopJSON
import Cryptography

/// A token with the right form whose signature has not been verified.
///
/// Until then, its contents serve only to find the issuer and the key that check it.
struct UnverifiedToken: Sendable {
    let text: String
    /// The name of the key (`kid`), or `nil` if the header has none.
    let keyID: String?
    /// The algorithm that the header names; the key decides which one is used.
    let algorithm: String?
    let claims: JSONObject

    /// Header members that would let a token choose the rules of its check (RFC 7515 §4.1).
    private static let forbidden = ["jwk", "jku", "x5u", "x5c", "crit"]

    /// Parses a token; throws if it is too long, has another form, or tries to choose the rules of its check.
    init(_ text: String) throws(TokenError) {
        guard text.utf8.count <= TokenVerifier.longest else { throw .tooLong }
        let parts = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 3, let header = Self.object(parts[0]) else { throw .malformed }
        guard Self.forbidden.allSatisfy({ header[$0] == nil }) else { throw .header }
        guard let claims = Self.object(parts[1]) else { throw .malformed }
        self.text = text
        keyID = header["kid"]?.string
        algorithm = header["alg"]?.string
        self.claims = claims
    }

    /// Parses strict JSON without duplicate members.
    private static func object(_ part: Substring.UTF8View) -> JSONObject? {
        guard let bytes = Base64URL.decode(String(Substring(part))) else { return nil }
        let parser = JSONParser(limits: JSONParser.Limits(bytes: TokenVerifier.longest, depth: 16))
        guard case .success(.object(let object)) = parser.parse(bytes) else { return nil }
        return object
    }
}
