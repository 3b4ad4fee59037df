import COpenSSL

/// SHA-256 of bytes that lie in one piece.
package enum SHA256 {
    /// The digest of `bytes`.
    package static func digest(of bytes: [UInt8]) -> Digest {
        bytes.withUnsafeBytes(digest)
    }

    /// The digest of `bytes`, which are only read during the call.
    package static func digest(of bytes: UnsafeRawBufferPointer) -> Digest {
        withUnsafeTemporaryAllocation(byteCount: Digest.byteCount, alignment: 8) { result in
            let input = bytes.bindMemory(to: UInt8.self).baseAddress
            let output = result.bindMemory(to: UInt8.self).baseAddress
            // Identities are made of digests: an OpenSSL without SHA-256 must stop the process, not invent ids.
            guard COpenSSL.SHA256(input, bytes.count, output) != nil else {
                preconditionFailure("OpenSSL cannot compute a SHA-256: \(OpenSSLErrors.drain())")
            }
            return Digest(UnsafeRawBufferPointer(result))
        }
    }
}
