import COpenSSL

/// HMAC with SHA-256 (RFC 2104): a short proof that a text was written by an owner of the key.
package enum HMAC {
    /// Returns the 32 bytes that prove `message` to an owner of `key`.
    package static func sha256(of message: [UInt8], key: [UInt8]) -> [UInt8] {
        var result = [UInt8](repeating: 0, count: Digest.byteCount)
        var length: UInt32 = 0
        let keyLength = Int32(clamping: key.count)
        // Links are proven with it. If OpenSSL has no HMAC, the process must stop and not return empty proofs.
        let isDone = COpenSSL.HMAC(EVP_sha256(), key, keyLength, message, message.count, &result, &length) != nil
        guard isDone, length == Digest.byteCount else {
            preconditionFailure("OpenSSL cannot compute an HMAC: \(OpenSSLErrors.drain())")
        }
        return result
    }

    /// Whether `proof` is the proof of `message`; the duration does not reveal where it differs.
    package static func isValid(_ proof: [UInt8], of message: [UInt8], key: [UInt8]) -> Bool {
        ConstantTime.areEqual(sha256(of: message, key: key), proof)
    }
}
