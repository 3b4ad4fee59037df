extension StringProtocol {
    /// Returns whether both strings have the same UTF-8 bytes.
    ///
    /// Swift's `==` treats canonically equivalent strings as equal. A database does not, so identifiers and keys must
    /// not.
    @inlinable
    @inline(__always)
    package func hasSameBytes(as other: some StringProtocol) -> Bool {
        guard utf8.count == other.utf8.count else { return false }
        return withBytes { ours in
            other.withBytes { theirs in
                for index in 0..<ours.count where ours[index] != theirs[index] { return false }
                return true
            }
        }
    }

    /// Runs `body` on the UTF-8 bytes of the string.
    @inlinable
    @inline(__always)
    package func withBytes<R>(_ body: (UnsafeBufferPointer<UInt8>) -> R) -> R {
        if let result = utf8.withContiguousStorageIfAvailable(body) { return result }
        return Array(utf8).withUnsafeBufferPointer(body)
    }
}

/// A key that is compared and hashed by its bytes.
struct ByteKey: Hashable {
    let text: String

    static func == (left: ByteKey, right: ByteKey) -> Bool {
        left.text.hasSameBytes(as: right.text)
    }

    func hash(into hasher: inout Hasher) {
        text.withBytes { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    }
}
