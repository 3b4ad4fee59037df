import COpenSSL

/// What every TLS connection of a server has in common: TLS 1.2 or later, one identity, `h2` and nothing else.
///
/// Thread safety: it is complete after its init; OpenSSL lets any number of threads make connections of it.
final class TLSServerContext: @unchecked Sendable {
    private let handle: OpaquePointer

    init(_ identity: TLSIdentity) throws(SandboxError) {
        guard let handle = SSL_CTX_new(TLS_server_method()) else { throw .openSSL(Self.attempted) }
        self.handle = handle
        bellhop_prepare_h2_server(handle)
        guard SSL_CTX_use_certificate(handle, identity.certificate.handle) == 1,
            SSL_CTX_use_PrivateKey(handle, identity.key.handle) == 1, SSL_CTX_check_private_key(handle) == 1
        else { throw .openSSL(Self.attempted) }
    }

    deinit {
        SSL_CTX_free(handle)
    }

    /// The server's end of a connection over `socket`, which stays the caller's to close; nil where memory is out.
    func makeConnection(over socket: Int32) -> TLSConnection? {
        guard let connection = SSL_new(handle) else { return nil }
        guard SSL_set_fd(connection, socket) == 1 else {
            SSL_free(connection)
            return nil
        }
        SSL_set_accept_state(connection)
        return TLSConnection(owning: connection)
    }

    private static let attempted = "preparing TLS"
}
