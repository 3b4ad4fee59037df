import COpenSSL

/// The point of a P-256 key in its uncompressed form (SEC 1 §2.3.3): 4, then both coordinates with 32 bytes each.
enum P256Point {
    /// Returns the point of a private or public key, in whichever form the key itself was encoded.
    static func bytes(of key: OpaquePointer, _ kind: KeyKind) throws(CryptographyError) -> [UInt8] {
        guard kind == .p256, let x = coordinate(OSSL_PKEY_PARAM_EC_PUB_X, of: key),
            let y = coordinate(OSSL_PKEY_PARAM_EC_PUB_Y, of: key)
        else {
            throw CryptographyError(
                .invalidKey,
                "the key has no point (\(OpenSSLErrors.drain())): expected a P-256 key"
            )
        }
        return [4] + x + y
    }

    /// Returns a coordinate padded to its full width, because about one in 256 is shorter.
    private static func coordinate(_ name: String, of key: OpaquePointer) -> [UInt8]? {
        var number: OpaquePointer?
        guard EVP_PKEY_get_bn_param(key, name, &number) == 1, let number else { return nil }
        defer { BN_free(number) }
        var bytes = [UInt8](repeating: 0, count: 32)
        return BN_bn2binpad(number, &bytes, 32) == 32 ? bytes : nil
    }
}
