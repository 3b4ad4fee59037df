import COpenSSL
import Cryptography
import TLS

/// An X.509 certificate of OpenSSL.
///
/// Thread safety: the certificate never changes after it has been signed, and OpenSSL allows any number of threads to
/// read it.
final class Certificate: @unchecked Sendable {
    /// The handle for OpenSSL's functions, which count their own references.
    let handle: OpaquePointer

    /// Takes ownership of a certificate that has no other owner.
    init(owning handle: OpaquePointer) { self.handle = handle }

    deinit { X509_free(handle) }

    func pem() throws(SandboxError) -> String {
        try PEMOutput.collect("writing a certificate") { PEM_write_bio_X509($0, handle) }
    }
}

/// A certificate with its private key.
struct TLSIdentity: Sendable {
    let certificate: Certificate
    let key: GeneratedKey

    /// Returns the TLS context of a server that presents this certificate.
    func serverContext(_ content: TLSServerContext.Content = .http2) throws(SandboxError) -> TLSServerContext {
        let pem = (certificate: try certificate.pem(), key: try key.pkcs8())
        do throws(TLSError) {
            return try TLSServerContext(certificate: pem.certificate, key: pem.key, content: content)
        } catch {
            throw SandboxError(.cryptography, attempted: "preparing TLS", cameBack: error.text)
        }
    }
}

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
