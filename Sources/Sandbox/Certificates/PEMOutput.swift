import COpenSSL
import Cryptography

extension SandboxError {
    /// A failure of OpenSSL with everything that the thread's error queue had to say; empties the queue.
    static func openSSL(_ attempted: String) -> SandboxError {
        SandboxError(.cryptography, attempted: attempted, cameBack: OpenSSLErrors.drain())
    }
}

/// Text that OpenSSL writes.
enum PEMOutput {
    /// What `write` wrote; 1 is its sign of success.
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
