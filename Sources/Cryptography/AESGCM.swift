import COpenSSL

/// AES-128 in Galois/counter mode, without additional data; the tag of 16 bytes follows the ciphertext.
package enum AESGCM {
    package static let keyLength = 16
    package static let nonceLength = 12
    package static let tagLength = 16

    /// Encrypts; a nonce must never be used twice with one key.
    package static func seal(_ plaintext: [UInt8], key: [UInt8], nonce: [UInt8]) throws(CryptographyError) -> [UInt8] {
        try check(key, nonce)
        guard let length = CInt(exactly: plaintext.count), let context = EVP_CIPHER_CTX_new() else { throw failure() }
        defer { EVP_CIPHER_CTX_free(context) }
        var output = [UInt8](repeating: 0, count: plaintext.count + tagLength)
        var written: CInt = 0
        var rest: CInt = 0
        let isSealed = output.withUnsafeMutableBufferPointer { output in
            guard let start = output.baseAddress else { return false }
            let tag = start + plaintext.count
            return EVP_EncryptInit_ex(context, EVP_aes_128_gcm(), nil, key, nonce) == 1
                && EVP_EncryptUpdate(context, start, &written, plaintext, length) == 1 && written == length
                && EVP_EncryptFinal_ex(context, tag, &rest) == 1 && rest == 0
                && EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, CInt(tagLength), tag) == 1
        }
        guard isSealed else { throw failure() }
        return output
    }

    /// Decrypts the output of `seal`; throws if a single bit differs.
    package static func open(_ sealed: [UInt8], key: [UInt8], nonce: [UInt8]) throws(CryptographyError) -> [UInt8] {
        try check(key, nonce)
        guard sealed.count >= tagLength, let length = CInt(exactly: sealed.count - tagLength),
            let context = EVP_CIPHER_CTX_new()
        else { throw failure() }
        defer { EVP_CIPHER_CTX_free(context) }
        var tag = Array(sealed.suffix(tagLength))
        // One byte more than needed, so that the buffer of an empty text has an address, too.
        var output = [UInt8](repeating: 0, count: Int(length) + 1)
        var written: CInt = 0
        var rest: CInt = 0
        let isOpened =
            EVP_DecryptInit_ex(context, EVP_aes_128_gcm(), nil, key, nonce) == 1
            && EVP_DecryptUpdate(context, &output, &written, sealed, length) == 1
            && EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, CInt(tagLength), &tag) == 1
        var ending = [UInt8](repeating: 0, count: 16)
        guard isOpened, EVP_DecryptFinal_ex(context, &ending, &rest) == 1, written == length else { throw failure() }
        output.removeLast()
        return output
    }

    private static func check(_ key: [UInt8], _ nonce: [UInt8]) throws(CryptographyError) {
        guard key.count == keyLength, nonce.count == nonceLength else {
            throw CryptographyError(
                .encryption,
                "a key of \(key.count) and a nonce of \(nonce.count) bytes: expected \(keyLength) and \(nonceLength)"
            )
        }
    }

    private static func failure() -> CryptographyError {
        CryptographyError(
            .encryption,
            "AES-128-GCM failed (\(OpenSSLErrors.drain())): the text was changed, or the key is another one"
        )
    }
}
