import COpenSSL

/// The kinds of signing key that are used here.
package enum KeyKind: Hashable, Sendable {
    /// RSA with at least 2,048 bits.
    case rsa
    /// The elliptic curve P-256.
    case p256

    /// What a key must be, for error texts.
    static let rule = "an RSA key of 2,048 to 8,192 bits or a P-256 key"

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
        default:
            return nil
        }
    }

    private static func curve(of key: OpaquePointer) -> String? {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 64) { name in
            guard let start = name.baseAddress,
                EVP_PKEY_get_group_name(key, start, name.count, nil) == 1
            else { return nil }
            return String(cString: start)
        }
    }
}
