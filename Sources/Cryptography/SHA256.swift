import COpenSSL

/// SHA-256 of bytes in one piece.
package enum SHA256 {
    /// Returns the digest of `bytes`.
    package static func digest(of bytes: [UInt8]) -> Digest {
        bytes.withUnsafeBytes(digest)
    }

    /// Returns the digest of `bytes`, which are read only during the call.
    package static func digest(of bytes: UnsafeRawBufferPointer) -> Digest {
        withUnsafeTemporaryAllocation(byteCount: Digest.byteCount, alignment: 8) { result in
            bellhop_sha256(bytes.baseAddress, bytes.count, result.bindMemory(to: UInt8.self).baseAddress)
            return Digest(UnsafeRawBufferPointer(result))
        }
    }
}
