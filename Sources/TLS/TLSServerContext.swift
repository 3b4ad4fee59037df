import COpenSSL
import ServiceRuntime

/// What every TLS connection of a server has in common: TLS 1.2 or later, one identity, one protocol inside.
///
/// Thread safety: it is complete after its init; OpenSSL lets any number of threads make connections of it.
package final class TLSServerContext: @unchecked Sendable {
    /// What is spoken inside.
    package enum Content: Sendable {
        /// HTTP/2: who does not offer `h2` is not let in.
        case http2
        /// Whatever both know without ALPN.
        case anything
    }

    private let handle: OpaquePointer
    private let content: Content

    /// Both in PEM.
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

    deinit {
        SSL_CTX_free(handle)
    }

    /// The server's end of a connection over `socket`, which stays the caller's to close; nil where memory is out.
    package func makeConnection(over socket: Int32) -> TLSConnection? {
        guard let connection = SSL_new(handle) else { return nil }
        guard SSL_set_fd(connection, socket) == 1 else {
            SSL_free(connection)
            return nil
        }
        SSL_set_accept_state(connection)
        return TLSConnection(owning: connection, needsHTTP2: content == .http2)
    }

    /// Lets OpenSSL read from a text.
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

/// What OpenSSL asks for the password of a key; without it, it would ask on the terminal and wait there.
private func withoutPassword(
    _ buffer: UnsafeMutablePointer<CChar>?,
    _ size: Int32,
    _ isWriting: Int32,
    _ context: UnsafeMutableRawPointer?
) -> Int32 {
    -1
}
