import COpenSSL

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
