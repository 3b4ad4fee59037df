import COpenSSL
import ServiceRuntime

/// The properties that all TLS connections of a server share: TLS 1.2 or later, one identity, and one inner protocol.
///
/// Thread safety: the context is complete after `init`, and OpenSSL allows any number of threads to create connections
/// from it.
package final class TLSServerContext: @unchecked Sendable {
    /// The protocol inside TLS.
    package enum Content: Sendable {
        /// HTTP/2; clients that do not offer `h2` are rejected.
        case http2
        /// Any protocol that both sides use without ALPN.
        case anything
    }

    private let handle: OpaquePointer
    private let content: Content

    /// Creates the context; certificate and key are PEM.
    package init(certificate: String, key: String, content: Content = .http2) throws(TLSError) {
        guard let handle = SSL_CTX_new(TLS_server_method()) else { throw Self.failure(.resources) }
        self.handle = handle
        self.content = content
        // OpenSSL writes to sockets without MSG_NOSIGNAL.
        ProcessSignal.ignoreBrokenPipes()
        bellhop_prepare_h2_server(handle)
        if content == .anything { SSL_CTX_set_alpn_select_cb(handle, nil, nil) }
        guard let parsed = Self.parse(certificate, { PEM_read_bio_X509($0, nil, withoutPassword, nil) }) else {
            throw Self.failure(.identity)
        }
        defer { X509_free(parsed) }
        guard let secret = Self.parse(key, { PEM_read_bio_PrivateKey($0, nil, withoutPassword, nil) }) else {
            throw Self.failure(.identity)
        }
        defer { EVP_PKEY_free(secret) }
        guard SSL_CTX_use_certificate(handle, parsed) == 1, SSL_CTX_use_PrivateKey(handle, secret) == 1,
            SSL_CTX_check_private_key(handle) == 1
        else { throw Self.failure(.identity) }
    }

    deinit { SSL_CTX_free(handle) }

    /// Creates the server's end of a connection over `socket`, which the caller must close; returns `nil` if memory is
    /// exhausted.
    package func makeConnection(over socket: Int32) -> TLSConnection? {
        guard let connection = SSL_new(handle) else { return nil }
        guard SSL_set_fd(connection, socket) == 1 else {
            SSL_free(connection)
            return nil
        }
        SSL_set_accept_state(connection)
        return TLSConnection(owning: connection, needsHTTP2: content == .http2)
    }

    /// Passes a text to one of OpenSSL's readers.
    private static func parse(_ pem: String, _ read: (OpaquePointer) -> OpaquePointer?) -> OpaquePointer? {
        var pem = pem
        return pem.withUTF8 { bytes in
            guard let source = BIO_new_mem_buf(bytes.baseAddress, Int32(clamping: bytes.count)) else { return nil }
            defer { BIO_free(source) }
            return read(source)
        }
    }

    private static func failure(_ code: TLSError.Code) -> TLSError {
        TLSError(code, attempted: "preparing TLS for a server", whatToDo: "check the certificate and its key")
    }
}

/// Rejects OpenSSL's request for a key's password; without this callback, OpenSSL would ask on the terminal and wait
/// there.
private func withoutPassword(
    _ buffer: UnsafeMutablePointer<CChar>?,
    _ size: Int32,
    _ isWriting: Int32,
    _ context: UnsafeMutableRawPointer?
) -> Int32 {
    -1
}
