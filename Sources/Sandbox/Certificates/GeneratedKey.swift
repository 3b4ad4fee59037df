import COpenSSL

/// A key pair that was made here.
///
/// Signatures are checked here too, and not by the room that the senders sign with: a fault that both shared would go
/// unseen.
///
/// Thread safety: the key is never changed after it was made, and OpenSSL lets any number of threads use such a key.
final class GeneratedKey: @unchecked Sendable {
    /// Lent to OpenSSL's functions, which count their own references.
    let handle: OpaquePointer

    private init(_ handle: OpaquePointer) {
        self.handle = handle
    }

    deinit {
        EVP_PKEY_free(handle)
    }

    /// A fresh key on P-256, for certificates and browsers.
    static func generateP256() throws(SandboxError) -> GeneratedKey {
        guard let key = bellhop_generate_p256() else { throw .openSSL("making a key on P-256") }
        return GeneratedKey(key)
    }

    /// A fresh RSA key of 2,048 bits, as Google gives to service accounts; takes a tenth of a second.
    static func generateRSA() throws(SandboxError) -> GeneratedKey {
        guard let key = bellhop_generate_rsa(2_048) else { throw .openSSL("making an RSA key") }
        return GeneratedKey(key)
    }

    /// The private key as PKCS#8 in PEM, unencrypted.
    func pkcs8() throws(SandboxError) -> String {
        try PEMOutput.collect("writing a private key") { output in
            PEM_write_bio_PKCS8PrivateKey(output, handle, nil, nil, 0, nil, nil)
        }
    }

    /// Whether `signature` is RS256 (RSASSA-PKCS1-v1_5 with SHA-256) of `message` by this key.
    func isRS256(_ signature: [UInt8], of message: [UInt8]) -> Bool {
        guard let context = EVP_MD_CTX_new() else { return false }
        defer {
            EVP_MD_CTX_free(context)
            // A refused signature leaves its reason in the thread's queue, where the next failure would find it.
            ERR_clear_error()
        }
        guard EVP_DigestVerifyInit(context, nil, EVP_sha256(), nil, handle) == 1 else { return false }
        return EVP_DigestVerify(context, signature, signature.count, message, message.count) == 1
    }
}
