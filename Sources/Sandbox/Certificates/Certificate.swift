import COpenSSL
import TLS

/// An X.509 certificate of OpenSSL's.
///
/// Thread safety: the certificate is never changed after it was signed, and OpenSSL lets any number of threads read it.
final class Certificate: @unchecked Sendable {
    /// Lent to OpenSSL's functions, which count their own references.
    let handle: OpaquePointer

    /// Takes over a certificate that nobody else holds.
    init(owning handle: OpaquePointer) {
        self.handle = handle
    }

    deinit {
        X509_free(handle)
    }

    func pem() throws(SandboxError) -> String {
        try PEMOutput.collect("writing a certificate") { PEM_write_bio_X509($0, handle) }
    }
}

/// A certificate with the key that proves it.
struct TLSIdentity: Sendable {
    let certificate: Certificate
    let key: GeneratedKey

    /// What a server that shows this certificate stands on.
    func serverContext(_ content: TLSServerContext.Content = .http2) throws(SandboxError) -> TLSServerContext {
        let pem = (certificate: try certificate.pem(), key: try key.pkcs8())
        do throws(TLSError) {
            return try TLSServerContext(certificate: pem.certificate, key: pem.key, content: content)
        } catch {
            throw SandboxError(.cryptography, attempted: "preparing TLS", cameBack: error.text)
        }
    }
}
