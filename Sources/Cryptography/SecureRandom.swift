import COpenSSL

/// Unpredictable random bytes for keys, salts and identifiers.
package enum SecureRandom {
    /// Returns `count` new bytes; none for a count of zero or less.
    package static func bytes(_ count: Int) throws(CryptographyError) -> [UInt8] {
        guard count > 0 else { return [] }
        guard let length = CInt(exactly: count) else {
            throw CryptographyError(
                .randomUnavailable,
                "\(count) random bytes were requested; OpenSSL gives at most \(CInt.max): ask for fewer"
            )
        }
        var bytes = [UInt8](repeating: 0, count: count)
        guard RAND_bytes(&bytes, length) == 1 else {
            throw CryptographyError(
                .randomUnavailable,
                "OpenSSL could not provide \(count) random bytes (\(OpenSSLErrors.drain())): check its installation"
            )
        }
        return bytes
    }
}
