import COpenSSL

/// The kinds of signing key that are used here.
package enum KeyKind: Hashable, Sendable {
    /// RSA with at least 2,048 bits.
    case rsa
    /// The elliptic curve P-256.
    case p256
    /// The curve Ed25519, whose signatures hash by themselves.
    case ed25519

    /// What a key must be, for error texts.
    static let rule = "an RSA key of 2,048 to 8,192 bits, a P-256 key or an Ed25519 key"

    /// Smaller keys are broken; larger ones let whoever chooses the key keep a core busy.
    private static let rsaBits: ClosedRange<CInt> = 2048...8192

    /// Nil for a key that is not used here.
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

    /// What a message is hashed with before it is signed; nil where the signature does so itself.
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
