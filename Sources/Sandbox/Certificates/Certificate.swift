import COpenSSL
import TLS

/// An X.509 certificate of OpenSSL.
///
/// Thread safety: the certificate never changes after it has been signed, and OpenSSL allows any number of threads to
/// read it.
final class Certificate: @unchecked Sendable {
    /// The handle for OpenSSL's functions, which count their own references.
    let handle: OpaquePointer

    /// Takes ownership of a certificate that has no other owner.
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
