import COpenSSL

/// A key pair of OpenSSL's.
///
/// Thread safety: the key is never changed after it was made, and OpenSSL lets any number of threads use such a key.
final class PrivateKey: @unchecked Sendable {
    /// Lent to OpenSSL's functions, which count their own references.
    let handle: OpaquePointer

    private init(_ handle: OpaquePointer) {
        self.handle = handle
    }

    deinit {
        EVP_PKEY_free(handle)
    }

    /// A fresh key on P-256, for certificates.
    static func generateP256() throws(SandboxError) -> PrivateKey {
        guard let key = bellhop_generate_p256() else { throw .openSSL("making a key on P-256") }
        return PrivateKey(key)
    }

    /// A fresh RSA key of 2,048 bits, as Google gives to service accounts; takes a tenth of a second.
    static func generateRSA() throws(SandboxError) -> PrivateKey {
        guard let key = bellhop_generate_rsa(2_048) else { throw .openSSL("making an RSA key") }
        return PrivateKey(key)
    }

    /// The private key as PKCS#8 in PEM, unencrypted.
    func pkcs8() throws(SandboxError) -> String {
        try PEMText.collect("writing a private key") { output in
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

    /// RS256 of `message`, for the tests of what the token endpoint refuses.
    func signRS256(_ message: [UInt8]) throws(SandboxError) -> [UInt8] {
        guard let context = EVP_MD_CTX_new() else { throw .openSSL("signing") }
        defer { EVP_MD_CTX_free(context) }
        var length = 512
        var signature = [UInt8](repeating: 0, count: length)
        guard EVP_DigestSignInit(context, nil, EVP_sha256(), nil, handle) == 1,
            EVP_DigestSign(context, &signature, &length, message, message.count) == 1
        else { throw .openSSL("signing") }
        return Array(signature.prefix(length))
    }
}
