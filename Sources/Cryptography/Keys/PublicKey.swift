import COpenSSL

/// A key that verifies signatures.
///
/// Thread safety: as with `PrivateKey`, the key is only read, and every verification has a separate context.
package final class PublicKey: @unchecked Sendable {
    package let kind: KeyKind

    /// The owned handle, freed with the object.
    let handle: OpaquePointer

    /// Takes ownership of a new handle; `nil` means that OpenSSL could not create one.
    private init(owning handle: OpaquePointer?) throws(CryptographyError) {
        guard let handle else {
            throw CryptographyError(
                .invalidKey,
                "no public key could be read (\(OpenSSLErrors.drain())): expected \(KeyKind.rule)"
            )
        }
        guard let kind = KeyKind(of: handle) else {
            EVP_PKEY_free(handle)
            ERR_clear_error()
            throw CryptographyError(
                .invalidKey,
                "the public key is of a kind or size not used here: expected \(KeyKind.rule)"
            )
        }
        self.handle = handle
        self.kind = kind
    }

    deinit { EVP_PKEY_free(handle) }

    /// Reads PEM with the header `PUBLIC KEY`.
    package convenience init(pem: [UInt8]) throws(CryptographyError) {
        try self.init(owning: PEMText.read(pem) { PEM_read_bio_PUBKEY($0, nil, nil, nil) })
    }

    /// Reads a SubjectPublicKeyInfo (RFC 5280 §4.1) that fills all of `der`.
    convenience init(der: [UInt8]) throws(CryptographyError) {
        let handle = der.withUnsafeBufferPointer { bytes in
            var position = bytes.baseAddress
            let handle = d2i_PUBKEY(nil, &position, bytes.count)
            guard let handle, position == bytes.baseAddress.map({ $0 + bytes.count }) else {
                EVP_PKEY_free(handle)
                return OpaquePointer?.none
            }
            return handle
        }
        try self.init(owning: handle)
    }

    /// Reads a point of P-256 in its uncompressed form, 65 bytes; a point off the curve is rejected.
    ///
    /// The point of a JWK is 4, followed by `x` and `y` with 32 bytes each. VAPID's `k` is the point itself.
    package convenience init(p256Point point: [UInt8]) throws(CryptographyError) {
        guard point.count == 65, point[0] == 4 else {
            throw CryptographyError(.invalidKey, "a P-256 key of \(point.count) bytes: expected 65, the first one 4")
        }
        let algorithm = DER.sequence(
            DER.objectIdentifier(Self.ellipticCurveKey) + DER.objectIdentifier(DER.prime256v1)
        )
        try self.init(der: DER.sequence(algorithm + DER.bitString(point)))
    }

    /// Reads an RSA key's two big-endian numbers, a JWK's `n` and `e`.
    package convenience init(rsaModulus modulus: [UInt8], exponent: [UInt8]) throws(CryptographyError) {
        let key = DER.sequence(DER.unsignedInteger(modulus) + DER.unsignedInteger(exponent))
        let algorithm = DER.sequence(DER.objectIdentifier(Self.rsaEncryption) + DER.null)
        try self.init(der: DER.sequence(algorithm + DER.bitString(key)))
    }

    /// Reads the 32 bytes of an Ed25519 key, a JWK's `x`.
    package convenience init(ed25519Point point: [UInt8]) throws(CryptographyError) {
        guard point.count == 32 else {
            throw CryptographyError(.invalidKey, "an Ed25519 key of \(point.count) bytes: expected 32")
        }
        let algorithm = DER.sequence(DER.objectIdentifier(Self.ed25519))
        try self.init(der: DER.sequence(algorithm + DER.bitString(point)))
    }

    /// Returns the point of a P-256 key in its uncompressed form, 65 bytes.
    package func p256Point() throws(CryptographyError) -> [UInt8] {
        try P256Point.bytes(of: handle, kind)
    }

    /// Whether `signature`, in OpenSSL's form, is this key's signature of `message`.
    func accepts(_ signature: [UInt8], of message: [UInt8]) -> Bool {
        // A rejected signature leaves entries in the queue, which would be reported with the next failure.
        defer { ERR_clear_error() }
        guard let context = EVP_MD_CTX_new() else { return false }
        defer { EVP_MD_CTX_free(context) }
        guard EVP_DigestVerifyInit(context, nil, kind.digest, nil, handle) == 1 else { return false }
        return EVP_DigestVerify(context, signature, signature.count, message, message.count) == 1
    }

    /// The identifier 1.2.840.10045.2.1.
    private static let ellipticCurveKey: [UInt8] = [0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01]
    /// The identifier 1.3.101.112.
    private static let ed25519: [UInt8] = [0x2B, 0x65, 0x70]
    /// The identifier 1.2.840.113549.1.1.1.
    private static let rsaEncryption: [UInt8] = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x01]
}

extension PublicKey: Equatable {
    /// Whether both are the same key, whatever form they were read from.
    package static func == (one: PublicKey, other: PublicKey) -> Bool {
        defer { ERR_clear_error() }
        return EVP_PKEY_eq(one.handle, other.handle) == 1
    }
}

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
