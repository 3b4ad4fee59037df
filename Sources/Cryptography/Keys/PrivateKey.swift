import COpenSSL

/// A key that signs; nothing prints it and nothing gets it out again.
///
/// Thread safety: OpenSSL counts references to a key atomically and only reads it when it signs; every signature has a
/// context of its own. Nothing here changes after `init`.
package final class PrivateKey: @unchecked Sendable {
    package let kind: KeyKind

    /// Owned; freed with the object.
    private let handle: OpaquePointer

    /// Reads PEM: PKCS#8 (`PRIVATE KEY`), PKCS#1 (`RSA PRIVATE KEY`) or SEC 1 (`EC PRIVATE KEY`).
    ///
    /// A key under a passphrase is refused: nobody would be there to type it.
    package init(pem: [UInt8]) throws(CryptographyError) {
        // Without a callback of ours OpenSSL would ask for the passphrase on the terminal.
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

    deinit {
        EVP_PKEY_free(handle)
    }

    /// The half that others may have.
    package func publicKey() throws(CryptographyError) -> PublicKey {
        var encoded: UnsafeMutablePointer<UInt8>?
        let length = i2d_PUBKEY(handle, &encoded)
        guard length > 0, let encoded else {
            throw CryptographyError(.invalidKey, "no public key could be derived (\(OpenSSLErrors.drain()))")
        }
        defer { bellhop_openssl_free(encoded) }
        return try PublicKey(der: Array(UnsafeBufferPointer(start: encoded, count: Int(length))))
    }

    /// The signature of SHA-256 over `message`, in OpenSSL's form: PKCS #1 v1.5 for RSA, DER for P-256.
    func signature(of message: [UInt8]) throws(CryptographyError) -> [UInt8] {
        guard let context = EVP_MD_CTX_new() else { throw failure() }
        defer { EVP_MD_CTX_free(context) }
        guard EVP_DigestSignInit(context, nil, EVP_sha256(), nil, handle) == 1 else { throw failure() }
        var length = 0
        guard EVP_DigestSign(context, nil, &length, message, message.count) == 1 else { throw failure() }
        var signature = [UInt8](repeating: 0, count: length)
        guard EVP_DigestSign(context, &signature, &length, message, message.count) == 1 else { throw failure() }
        // What was announced is the longest a DER signature can be.
        return Array(signature.prefix(length))
    }

    private func failure() -> CryptographyError {
        CryptographyError(
            .signing,
            "OpenSSL could not sign (\(OpenSSLErrors.drain())): check the key and the installation"
        )
    }
}
