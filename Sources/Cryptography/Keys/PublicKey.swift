import COpenSSL

/// A key that checks signatures.
///
/// Thread safety: as with `PrivateKey`; the key is only read, and every check has a context of its own.
package final class PublicKey: @unchecked Sendable {
    package let kind: KeyKind

    /// Owned; freed with the object.
    let handle: OpaquePointer

    /// Takes over a fresh handle, nil where OpenSSL could not make one.
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

    deinit {
        EVP_PKEY_free(handle)
    }

    /// Reads PEM with the header `PUBLIC KEY`.
    package convenience init(pem: [UInt8]) throws(CryptographyError) {
        try self.init(owning: PEMText.read(pem) { PEM_read_bio_PUBKEY($0, nil, nil, nil) })
    }

    /// Reads a SubjectPublicKeyInfo (RFC 5280 §4.1) that takes all of `der`.
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

    /// Takes a point of P-256 in its uncompressed form, 65 bytes; a point off the curve is refused.
    ///
    /// From a JWK: 4, then `x` and `y` with 32 bytes each. VAPID's `k` is the point as it stands.
    package convenience init(p256Point point: [UInt8]) throws(CryptographyError) {
        guard point.count == 65, point[0] == 4 else {
            throw CryptographyError(.invalidKey, "a P-256 key of \(point.count) bytes: expected 65, the first one 4")
        }
        let algorithm = DER.sequence(
            DER.objectIdentifier(Self.ellipticCurveKey) + DER.objectIdentifier(DER.prime256v1)
        )
        try self.init(der: DER.sequence(algorithm + DER.bitString(point)))
    }

    /// Takes an RSA key's two numbers, big-endian, as a JWK's `n` and `e` hold them.
    package convenience init(rsaModulus modulus: [UInt8], exponent: [UInt8]) throws(CryptographyError) {
        let key = DER.sequence(DER.unsignedInteger(modulus) + DER.unsignedInteger(exponent))
        let algorithm = DER.sequence(DER.objectIdentifier(Self.rsaEncryption) + DER.null)
        try self.init(der: DER.sequence(algorithm + DER.bitString(key)))
    }

    /// Takes the 32 bytes of an Ed25519 key, as a JWK's `x` holds them.
    package convenience init(ed25519Point point: [UInt8]) throws(CryptographyError) {
        guard point.count == 32 else {
            throw CryptographyError(.invalidKey, "an Ed25519 key of \(point.count) bytes: expected 32")
        }
        let algorithm = DER.sequence(DER.objectIdentifier(Self.ed25519))
        try self.init(der: DER.sequence(algorithm + DER.bitString(point)))
    }

    /// The point of a P-256 key in its uncompressed form, 65 bytes.
    package func p256Point() throws(CryptographyError) -> [UInt8] {
        try P256Point.bytes(of: handle, kind)
    }

    /// Whether `signature`, in OpenSSL's form, is this key's over `message`.
    func accepts(_ signature: [UInt8], of message: [UInt8]) -> Bool {
        // A refused signature leaves entries in the queue that the next failure would tell as its own.
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
