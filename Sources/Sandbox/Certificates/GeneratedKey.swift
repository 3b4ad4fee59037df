import COpenSSL

/// A key pair that was generated in this process.
///
/// Signatures are also checked here, and not with the target that the senders sign with, because an error in shared
/// code would remain undetected.
///
/// Thread safety: the key never changes after it has been generated, and OpenSSL allows any number of threads to use
/// such a key.
final class GeneratedKey: @unchecked Sendable {
    /// The handle for OpenSSL's functions, which count their own references.
    let handle: OpaquePointer

    private init(_ handle: OpaquePointer) { self.handle = handle }

    deinit { EVP_PKEY_free(handle) }

    /// Generates a key on P-256, for certificates and browsers.
    static func generateP256() throws(SandboxError) -> GeneratedKey {
        guard let key = bellhop_generate_p256() else { throw .openSSL("making a key on P-256") }
        return GeneratedKey(key)
    }

    /// Generates an RSA key of 2,048 bits, as Google gives to service accounts.
    ///
    /// This takes a tenth of a second.
    static func generateRSA() throws(SandboxError) -> GeneratedKey {
        guard let key = bellhop_generate_rsa(2_048) else { throw .openSSL("making an RSA key") }
        return GeneratedKey(key)
    }

    /// Returns the private key as PKCS#8 in PEM, unencrypted.
    func pkcs8() throws(SandboxError) -> String {
        try PEMOutput.collect("writing a private key") { output in
            PEM_write_bio_PKCS8PrivateKey(output, handle, nil, nil, 0, nil, nil)
        }
    }

    /// Whether `signature` is this key's RS256 signature (RSASSA-PKCS1-v1_5 with SHA-256) of `message`.
    func isRS256(_ signature: [UInt8], of message: [UInt8]) -> Bool {
        guard let context = EVP_MD_CTX_new() else { return false }
        defer {
            EVP_MD_CTX_free(context)
            // A rejected signature leaves its reason in the thread's error queue, where it would be reported with the
            // next failure.
            ERR_clear_error()
        }
        guard EVP_DigestVerifyInit(context, nil, EVP_sha256(), nil, handle) == 1 else { return false }
        return EVP_DigestVerify(context, signature, signature.count, message, message.count) == 1
    }

    /// Whether `signature` is this key's ES256 signature (64 bytes: `r` and `s`) of `message`.
    func isES256(_ signature: [UInt8], of message: [UInt8]) -> Bool {
        guard let encoded = Self.encoded(signature), let context = EVP_MD_CTX_new() else { return false }
        defer {
            EVP_MD_CTX_free(context)
            // A rejected signature leaves its reason in the thread's error queue, where it would be reported with the
            // next failure.
            ERR_clear_error()
        }
        guard EVP_DigestVerifyInit(context, nil, EVP_sha256(), nil, handle) == 1 else { return false }
        return EVP_DigestVerify(context, encoded, encoded.count, message, message.count) == 1
    }

    /// Returns the two numbers in the form that OpenSSL checks; `nil` if the signature does not have 64 bytes.
    private static func encoded(_ raw: [UInt8]) -> [UInt8]? {
        guard raw.count == 64, let signature = ECDSA_SIG_new() else { return nil }
        defer { ECDSA_SIG_free(signature) }
        let r = BN_bin2bn(Array(raw[..<32]), 32, nil)
        let s = BN_bin2bn(Array(raw[32...]), 32, nil)
        guard r != nil, s != nil, ECDSA_SIG_set0(signature, r, s) == 1 else {
            BN_free(r)
            BN_free(s)
            return nil
        }
        var start: UnsafeMutablePointer<UInt8>?
        let length = i2d_ECDSA_SIG(signature, &start)
        guard length > 0, let start else { return nil }
        defer { bellhop_openssl_free(start) }
        return Array(UnsafeBufferPointer(start: start, count: Int(length)))
    }
}
