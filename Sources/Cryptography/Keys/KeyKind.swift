import COpenSSL

/// The supported kinds of signing keys.
package enum KeyKind: Hashable, Sendable {
    /// RSA with 2,048 to 8,192 bits.
    case rsa
    /// The elliptic curve P-256.
    case p256
    /// The curve Ed25519, whose signatures include the hashing.
    case ed25519

    /// The requirements for a key, for error texts.
    static let rule = "an RSA key of 2,048 to 8,192 bits, a P-256 key or an Ed25519 key"

    /// The permitted size in bits.
    ///
    /// Smaller keys are broken; with larger ones, the party that chooses the key could keep a core busy.
    private static let rsaBits: ClosedRange<CInt> = 2048...8192

    /// Returns `nil` for an unsupported key.
    init?(of key: OpaquePointer) {
        switch EVP_PKEY_get_base_id(key) {
        case EVP_PKEY_RSA:
            guard Self.rsaBits.contains(EVP_PKEY_get_bits(key)) else { return nil }
            self = .rsa
        case EVP_PKEY_EC:
            guard Self.curve(of: key) == "prime256v1" else { return nil }
            self = .p256
        case EVP_PKEY_ED25519:
            self = .ed25519
        default:
            return nil
        }
    }

    /// The hash function of a message before it is signed; `nil` if the signature includes it.
    var digest: OpaquePointer? { self == .ed25519 ? nil : EVP_sha256() }

    private static func curve(of key: OpaquePointer) -> String? {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 64) { name in
            guard let start = name.baseAddress,
                EVP_PKEY_get_group_name(key, start, name.count, nil) == 1
            else { return nil }
            return String(cString: start)
        }
    }
}

/// Passes PEM to OpenSSL's readers, which require a stream.
enum PEMText {
    /// Returns the result of `read` for `bytes`, which the stream only borrows; `nil` if it fails.
    static func read(_ bytes: [UInt8], with read: (OpaquePointer) -> OpaquePointer?) -> OpaquePointer? {
        bytes.withUnsafeBytes { bytes in
            guard let length = CInt(exactly: bytes.count), let stream = BIO_new_mem_buf(bytes.baseAddress, length)
            else {
                return nil
            }
            defer { BIO_free(stream) }
            return read(stream)
        }
    }
}
