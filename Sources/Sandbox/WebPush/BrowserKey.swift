import COpenSSL

/// A browser's operations with a subscription's key, and a push service's operations with a sender's key.
///
/// They use only OpenSSL and not the target with which senders encrypt and sign, because an error in shared code would
/// remain undetected.
enum BrowserKey {
    /// Returns the uncompressed point of a key's public half, 65 bytes.
    static func point(of key: GeneratedKey) throws(SandboxError) -> [UInt8] {
        var encoded: UnsafeMutablePointer<UInt8>?
        let length = EVP_PKEY_get1_encoded_public_key(key.handle, &encoded)
        guard length == 65, let encoded else { throw .openSSL("encoding a public key") }
        defer { bellhop_openssl_free(encoded) }
        return Array(UnsafeBufferPointer(start: encoded, count: length))
    }

    /// Returns the secret shared with the owner of `point`; `nil` for a point off the curve.
    static func secret(of key: GeneratedKey, with point: ArraySlice<UInt8>) -> [UInt8]? {
        // A failure leaves its reason in the thread's error queue, where it would be reported with the next failure.
        defer { ERR_clear_error() }
        guard let other = publicKey(point) else { return nil }
        defer { EVP_PKEY_free(other) }
        guard let context = EVP_PKEY_CTX_new(key.handle, nil) else { return nil }
        defer { EVP_PKEY_CTX_free(context) }
        var secret = [UInt8](repeating: 0, count: 32)
        var length = secret.count
        guard EVP_PKEY_derive_init(context) == 1, EVP_PKEY_derive_set_peer(context, other) == 1,
            EVP_PKEY_derive(context, &secret, &length) == 1, length == 32
        else { return nil }
        return secret
    }

    /// Whether `signature` is the ES256 signature (64 bytes) of `message` by the owner of `point`.
    static func isES256(_ signature: [UInt8], of message: [UInt8], by point: [UInt8]) -> Bool {
        defer { ERR_clear_error() }
        guard signature.count == 64, let der = der(signature), let key = publicKey(point[...]) else { return false }
        defer { EVP_PKEY_free(key) }
        guard let context = EVP_MD_CTX_new() else { return false }
        defer { EVP_MD_CTX_free(context) }
        guard EVP_DigestVerifyInit(context, nil, EVP_sha256(), nil, key) == 1 else { return false }
        return EVP_DigestVerify(context, der, der.count, message, message.count) == 1
    }

    /// Derives `count` bytes by HKDF with SHA-256, extraction and expansion in one step.
    static func derived(_ secret: [UInt8], salt: [UInt8], info: [UInt8], count: Int) -> [UInt8]? {
        var output = [UInt8](repeating: 0, count: count)
        defer { ERR_clear_error() }
        let isDone = bellhop_hkdf_sha256(secret, secret.count, salt, salt.count, info, info.count, &output, count)
        return isDone == 1 ? output : nil
    }

    /// Decrypts AES-128-GCM data with its tag in the last 16 bytes; returns `nil` if any byte was changed.
    static func opened(_ sealed: ArraySlice<UInt8>, key: [UInt8], nonce: [UInt8]) -> [UInt8]? {
        defer { ERR_clear_error() }
        guard sealed.count > 16, let length = CInt(exactly: sealed.count - 16), key.count == 16, nonce.count == 12,
            let context = EVP_CIPHER_CTX_new()
        else { return nil }
        defer { EVP_CIPHER_CTX_free(context) }
        var tag = Array(sealed.suffix(16))
        let text = Array(sealed.dropLast(16))
        var output = [UInt8](repeating: 0, count: text.count + 16)
        var written: CInt = 0
        var rest: CInt = 0
        guard EVP_DecryptInit_ex(context, EVP_aes_128_gcm(), nil, key, nonce) == 1,
            EVP_DecryptUpdate(context, &output, &written, text, length) == 1, written == length,
            EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, 16, &tag) == 1
        else { return nil }
        var ending = [UInt8](repeating: 0, count: 16)
        guard EVP_DecryptFinal_ex(context, &ending, &rest) == 1 else { return nil }
        return Array(output.prefix(text.count))
    }

    /// Returns a key, which the caller must free; rejects a point off the curve and the point at infinity.
    private static func publicKey(_ point: ArraySlice<UInt8>) -> OpaquePointer? {
        guard point.count == 65, point.first == 4 else { return nil }
        return bellhop_p256_from_point(Array(point), point.count)
    }

    /// Returns both halves of a signature in the form that OpenSSL requires.
    private static func der(_ signature: [UInt8]) -> [UInt8]? {
        guard let pair = ECDSA_SIG_new() else { return nil }
        defer { ECDSA_SIG_free(pair) }
        let r = BN_bin2bn(Array(signature[..<32]), 32, nil)
        let s = BN_bin2bn(Array(signature[32...]), 32, nil)
        guard r != nil, s != nil, ECDSA_SIG_set0(pair, r, s) == 1 else {
            BN_free(r)
            BN_free(s)
            return nil
        }
        var encoded: UnsafeMutablePointer<UInt8>?
        let length = i2d_ECDSA_SIG(pair, &encoded)
        guard length > 0, let encoded else { return nil }
        defer { bellhop_openssl_free(encoded) }
        return Array(UnsafeBufferPointer(start: encoded, count: Int(length)))
    }
}
