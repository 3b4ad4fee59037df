import COpenSSL

/// SHA-256 of bytes in several pieces, for data that is never completely in memory.
///
/// Confined to the code that created it.
package final class SHA256Stream {
    private let context: OpaquePointer

    package init() {
        // As for a digest in one piece: if OpenSSL has no SHA-256, the process must stop and not return invented
        // digests.
        guard let context = EVP_MD_CTX_new(), EVP_DigestInit_ex(context, EVP_sha256(), nil) == 1 else {
            preconditionFailure("OpenSSL cannot compute a SHA-256: \(OpenSSLErrors.drain())")
        }
        self.context = context
    }

    deinit {
        EVP_MD_CTX_free(context)
    }

    /// Adds the next bytes, which are read only during the call.
    package func add(_ bytes: UnsafeRawBufferPointer) {
        guard EVP_DigestUpdate(context, bytes.baseAddress, bytes.count) == 1 else {
            preconditionFailure("OpenSSL cannot compute a SHA-256: \(OpenSSLErrors.drain())")
        }
    }

    /// Returns the digest of all added bytes, and resets the stream.
    package func finish() -> Digest {
        withUnsafeTemporaryAllocation(byteCount: Digest.byteCount, alignment: 8) { result in
            let output = result.bindMemory(to: UInt8.self).baseAddress
            guard EVP_DigestFinal_ex(context, output, nil) == 1, EVP_DigestInit_ex(context, EVP_sha256(), nil) == 1
            else {
                preconditionFailure("OpenSSL cannot compute a SHA-256: \(OpenSSLErrors.drain())")
            }
            return Digest(UnsafeRawBufferPointer(result))
        }
    }
}
