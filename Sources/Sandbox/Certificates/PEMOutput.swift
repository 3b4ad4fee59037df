import COpenSSL
import Cryptography

extension SandboxError {
    /// Returns a failure of OpenSSL with the contents of the thread's error queue, and empties the queue.
    static func openSSL(_ attempted: String) -> SandboxError {
        SandboxError(.cryptography, attempted: attempted, cameBack: OpenSSLErrors.drain())
    }
}

/// Collects text that OpenSSL writes.
enum PEMOutput {
    /// Returns the output of `write`, which returns 1 on success.
    static func collect(
        _ attempted: String,
        _ write: (OpaquePointer) -> Int32
    ) throws(SandboxError) -> String {
        guard let output = BIO_new(BIO_s_mem()) else { throw .openSSL(attempted) }
        defer { BIO_free(output) }
        guard write(output) == 1 else { throw .openSSL(attempted) }
        var start: UnsafeMutablePointer<CChar>?
        let length = bellhop_bio_contents(output, &start)
        guard length > 0, let start else { throw .openSSL(attempted) }
        return String(decoding: UnsafeRawBufferPointer(start: start, count: length), as: UTF8.self)
    }
}
