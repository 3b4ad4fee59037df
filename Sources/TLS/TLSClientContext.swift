import COpenSSL
import Glibc
import ServiceRuntime

/// The properties that all TLS connections of a client share: TLS 1.2 or later, `h2`, and the trusted authorities.
///
/// Thread safety: the context is complete after `init`, and OpenSSL allows any number of threads to create connections
/// from it.
package final class TLSClientContext: @unchecked Sendable {
    private let handle: OpaquePointer

    /// Trusts the authorities of `authoritiesFile`, or the system's.
    package init(authoritiesFile: String?) throws(TLSError) {
        guard let handle = SSL_CTX_new(TLS_client_method()) else {
            throw TLSError(.resources, attempted: "preparing TLS", whatToDo: "try again")
        }
        self.handle = handle
        // OpenSSL writes to sockets without MSG_NOSIGNAL.
        ProcessSignal.ignoreBrokenPipes()
        bellhop_prepare_h2_client(handle)
        let isTrusting =
            authoritiesFile.map { SSL_CTX_load_verify_locations(handle, $0, nil) }
            ?? SSL_CTX_set_default_verify_paths(handle)
        guard isTrusting == 1 else {
            throw TLSError(
                .authorities,
                attempted: "reading the trusted authorities of \(authoritiesFile ?? "the system")",
                whatToDo: "give a PEM file of certificates"
            )
        }
    }

    deinit { SSL_CTX_free(handle) }

    /// Creates the client's end of a connection over `socket`, which the caller must close; returns `nil` if memory is
    /// exhausted.
    ///
    /// `host` is the name or address for which the peer's certificate must be valid.
    package func makeConnection(over socket: Int32, to host: String) -> TLSConnection? {
        guard let connection = SSL_new(handle) else { return nil }
        guard SSL_set_fd(connection, socket) == 1, Self.expect(host, connection) else {
            SSL_free(connection)
            return nil
        }
        SSL_set_connect_state(connection)
        return TLSConnection(owning: connection)
    }

    /// Sets the expected host; names in the subject are ignored, and a wildcard matches only a whole label (RFC 9525).
    private static func expect(_ host: String, _ connection: OpaquePointer) -> Bool {
        let rules = X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT
        X509_VERIFY_PARAM_set_hostflags(SSL_get0_param(connection), UInt32(rules))
        if X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(connection), host) == 1 { return true }
        ERR_clear_error()
        return SSL_set1_host(connection, host) == 1 && bellhop_name_host(connection, host) == 1
    }
}
