import COpenSSL

/// Comparison whose duration tells nothing about where two secrets differ.
package enum ConstantTime {
    /// Whether both hold the same bytes.
    ///
    /// Only the lengths can be learned from the time it takes.
    package static func areEqual(_ left: [UInt8], _ right: [UInt8]) -> Bool {
        guard left.count == right.count else { return false }
        return CRYPTO_memcmp(left, right, left.count) == 0
    }
}
