/// Random tokens that files store only as hashes.
///
/// A token has 256 random bits, so no slow hash is needed against guessing.
package enum BearerToken {
    /// Creates a token, and the hash that is stored in its place.
    ///
    /// `prefix` identifies the token's kind in files and logs. The token cannot be recovered from the hash.
    package static func make(prefix: String) throws(CryptographyError) -> (token: String, hash: [UInt8]) {
        let token = prefix + Base64URL.encode(try SecureRandom.bytes(32))
        return (token, hash(of: token))
    }

    /// Returns the hash that is compared in place of a token: SHA-256.
    package static func hash(of token: String) -> [UInt8] {
        SHA256.digest(of: Array(token.utf8)).bytes
    }
}
