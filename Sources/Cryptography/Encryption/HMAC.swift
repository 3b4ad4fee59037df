import COpenSSL

/// HMAC with SHA-256 (RFC 2104).
package enum HMAC {
    /// The 32 bytes for `message` under `key`, which may have any length.
    package static func sha256(_ message: [UInt8], key: [UInt8]) throws(CryptographyError) -> [UInt8] {
        var code = [UInt8](repeating: 0, count: 32)
        var length: UInt32 = 0
        guard let keyLength = CInt(exactly: key.count),
            COpenSSL.HMAC(EVP_sha256(), key, keyLength, message, message.count, &code, &length) != nil, length == 32
        else {
            throw CryptographyError(
                .encryption,
                "OpenSSL could not compute an HMAC (\(OpenSSLErrors.drain())): check its installation"
            )
        }
        return code
    }
}
