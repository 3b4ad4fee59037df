import COpenSSL

/// A key that signs, or agrees on a secret; it is never printed, and only `pem()` exports it.
///
/// Thread safety: OpenSSL counts references to a key atomically and only reads it when it signs; every signature has a
/// separate context. Nothing here changes after `init`.
package final class PrivateKey: @unchecked Sendable {
    package let kind: KeyKind

    /// The owned handle, freed with the object.
    let handle: OpaquePointer

    /// Takes ownership of a new handle; `nil` means that OpenSSL could not create one.
    private init(p256 handle: OpaquePointer?, _ attempted: String) throws(CryptographyError) {
        guard let handle else {
            throw CryptographyError(
                .invalidKey,
                "\(attempted) failed (\(OpenSSLErrors.drain())): check the key and the installation of OpenSSL"
            )
        }
        self.handle = handle
        kind = .p256
    }

    /// Generates a key on P-256.
    package static func generateP256() throws(CryptographyError) -> PrivateKey {
        try PrivateKey(p256: bellhop_generate_p256(), "making a P-256 key")
    }

    /// Reads a P-256 key from the 32 bytes of its secret number, the format of VAPID tools.
    ///
    /// The public half is computed from it. Zero, and a number beyond the curve's order, are rejected.
    package convenience init(p256Secret secret: [UInt8]) throws(CryptographyError) {
        guard secret.count == 32 else {
            throw CryptographyError(.invalidKey, "a P-256 secret of \(secret.count) bytes: expected 32")
        }
        let der = DER.sequence(
            DER.unsignedInteger([1]) + DER.octetString(secret)
                + DER.tagged(0, DER.objectIdentifier(DER.prime256v1))
        )
        let handle = der.withUnsafeBufferPointer { bytes in
            var position = bytes.baseAddress
            return d2i_PrivateKey(EVP_PKEY_EC, nil, &position, bytes.count)
        }
        try self.init(p256: handle, "reading a P-256 secret")
        guard isSound else {
            throw CryptographyError(
                .invalidKey,
                "the number is not a P-256 secret (\(OpenSSLErrors.drain())): expected one between 1 and its order"
            )
        }
    }

    private var isSound: Bool {
        guard let context = EVP_PKEY_CTX_new(handle, nil) else { return false }
        defer { EVP_PKEY_CTX_free(context) }
        return EVP_PKEY_check(context) == 1
    }

    /// Reads PEM: PKCS#8 (`PRIVATE KEY`), PKCS#1 (`RSA PRIVATE KEY`) or SEC 1 (`EC PRIVATE KEY`).
    ///
    /// A key with a passphrase is rejected, because no operator is present to type it.
    package init(pem: [UInt8]) throws(CryptographyError) {
        // Without this callback, OpenSSL would ask for the passphrase on the terminal.
        let read = PEMText.read(pem) { PEM_read_bio_PrivateKey($0, nil, { _, _, _, _ in -1 }, nil) }
        guard let handle = read else {
            throw CryptographyError(
                .invalidKey,
                """
                no private key could be read from \(pem.count) bytes (\(OpenSSLErrors.drain())): \
                expected PEM without a passphrase that holds \(KeyKind.rule)
                """
            )
        }
        guard let kind = KeyKind(of: handle) else {
            EVP_PKEY_free(handle)
            ERR_clear_error()
            throw CryptographyError(
                .invalidKey,
                "the private key is of a kind or size not used here: expected \(KeyKind.rule)"
            )
        }
        self.handle = handle
        self.kind = kind
    }

    deinit { EVP_PKEY_free(handle) }

    /// Returns the point of a P-256 key's public half in its uncompressed form, 65 bytes.
    package func p256Point() throws(CryptographyError) -> [UInt8] {
        try P256Point.bytes(of: handle, kind)
    }

    /// Returns the public half.
    package func publicKey() throws(CryptographyError) -> PublicKey {
        var encoded: UnsafeMutablePointer<UInt8>?
        let length = i2d_PUBKEY(handle, &encoded)
        guard length > 0, let encoded else {
            throw CryptographyError(.invalidKey, "no public key could be derived (\(OpenSSLErrors.drain()))")
        }
        defer { bellhop_openssl_free(encoded) }
        return try PublicKey(der: Array(UnsafeBufferPointer(start: encoded, count: Int(length))))
    }

    /// Returns the key as PKCS #8 in PEM, without a passphrase; use it only for the file that stores the key.
    package func pem() throws(CryptographyError) -> [UInt8] {
        guard let output = BIO_new(BIO_s_secmem()) else { throw unwritable() }
        defer { BIO_free(output) }
        guard PEM_write_bio_PKCS8PrivateKey(output, handle, nil, nil, 0, nil, nil) == 1 else { throw unwritable() }
        var start: UnsafeMutablePointer<CChar>?
        let length = bellhop_bio_contents(output, &start)
        guard length > 0, let start else { throw unwritable() }
        return Array(UnsafeRawBufferPointer(start: start, count: length))
    }

    private func unwritable() -> CryptographyError {
        CryptographyError(.invalidKey, "OpenSSL could not write a private key (\(OpenSSLErrors.drain()))")
    }

    /// Returns the signature of `message` in OpenSSL's form.
    ///
    /// RSA (PKCS #1 v1.5) and P-256 (DER) sign the SHA-256 of the message; Ed25519 signs the message itself.
    func signature(of message: [UInt8]) throws(CryptographyError) -> [UInt8] {
        guard let context = EVP_MD_CTX_new() else { throw failure() }
        defer { EVP_MD_CTX_free(context) }
        guard EVP_DigestSignInit(context, nil, kind.digest, nil, handle) == 1 else { throw failure() }
        var length = 0
        guard EVP_DigestSign(context, nil, &length, message, message.count) == 1 else { throw failure() }
        var signature = [UInt8](repeating: 0, count: length)
        guard EVP_DigestSign(context, &signature, &length, message, message.count) == 1 else { throw failure() }
        // The announced length is the maximum of a DER signature.
        return Array(signature.prefix(length))
    }

    private func failure() -> CryptographyError {
        CryptographyError(
            .signing,
            "OpenSSL could not sign (\(OpenSSLErrors.drain())): check the key and the installation"
        )
    }

    /// Returns the secret that this key's and the other key's owner can both compute (ECDH on P-256).
    ///
    /// It is the 32 bytes of the shared point's x coordinate, leading zeros included. It is not a key yet: HKDF derives
    /// one from it.
    package func sharedSecret(with other: PublicKey) throws(CryptographyError) -> [UInt8] {
        guard kind == .p256, other.kind == .p256 else {
            throw CryptographyError(.keyAgreement, "no secret can be agreed on: expected two P-256 keys")
        }
        guard let context = EVP_PKEY_CTX_new(handle, nil) else { throw disagreement() }
        defer { EVP_PKEY_CTX_free(context) }
        guard EVP_PKEY_derive_init(context) == 1, EVP_PKEY_derive_set_peer(context, other.handle) == 1 else {
            throw disagreement()
        }
        var secret = [UInt8](repeating: 0, count: 32)
        var length = secret.count
        guard EVP_PKEY_derive(context, &secret, &length) == 1, length == 32 else { throw disagreement() }
        return secret
    }

    private func disagreement() -> CryptographyError {
        CryptographyError(
            .keyAgreement,
            "OpenSSL could not agree on a secret (\(OpenSSLErrors.drain())): check the other side's key"
        )
    }
}
