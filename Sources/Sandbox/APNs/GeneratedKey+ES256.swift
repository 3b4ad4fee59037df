import COpenSSL

extension GeneratedKey {
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
