import COpenSSL

extension PrivateKey {
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
