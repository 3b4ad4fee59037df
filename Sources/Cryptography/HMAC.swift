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

/// Comparison whose duration does not reveal where two secrets differ.
package enum ConstantTime {
    /// Whether both contain the same bytes.
    ///
    /// The duration reveals only the lengths.
    package static func areEqual(_ left: [UInt8], _ right: [UInt8]) -> Bool {
        guard left.count == right.count else { return false }
        return CRYPTO_memcmp(left, right, left.count) == 0
    }
}

/// HKDF with SHA-256 (RFC 5869), which derives keys from a secret that is not uniformly random.
package enum HKDF {
    /// The maximum bytes of one expansion.
    package static let longest = 255 * 32

    /// Performs step one: returns a pseudorandom key of 32 bytes.
    package static func extract(secret: [UInt8], salt: [UInt8]) -> [UInt8] {
        HMAC.sha256(of: secret, key: salt)
    }

    /// Performs step two: returns `count` bytes for the purpose that `info` names.
    ///
    /// Block n is HMAC(key, block n−1 ‖ info ‖ n), from n = 1 and an empty block.
    package static func expand(key: [UInt8], info: [UInt8], count: Int) throws(CryptographyError) -> [UInt8] {
        guard (1...longest).contains(count) else {
            throw CryptographyError(.encryption, "\(count) bytes were asked of HKDF: it gives 1 to \(longest)")
        }
        var output: [UInt8] = []
        var block: [UInt8] = []
        var number: UInt8 = 1
        while true {
            block = HMAC.sha256(of: block + info + [number], key: key)
            output += block
            guard output.count < count else { return Array(output.prefix(count)) }
            number += 1
        }
    }
}
