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
