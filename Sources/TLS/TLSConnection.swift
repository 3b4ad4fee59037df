import COpenSSL
import Cryptography
import Glibc

/// One end of a TLS connection over a socket that does not block; stays on one thread.
package final class TLSConnection {
    /// How far an attempt came.
    package enum Progress: Equatable {
        case done(Int)
        /// Nothing more until the socket has more to read.
        case needsReading
        /// Nothing more until the socket takes more.
        case needsWriting
        /// The connection is over, in peace or not.
        case ended
    }

    /// Why a handshake came to nothing.
    package enum Refusal: Equatable {
        /// The peer's certificate does not satisfy us.
        case certificate(String)
        /// The peer speaks TLS and no HTTP/2.
        case noHTTP2
        /// Anything else, in the words of OpenSSL or the system.
        case other(String)
    }

    private let handle: OpaquePointer
    private let needsHTTP2: Bool

    init(owning handle: OpaquePointer, needsHTTP2: Bool = true) {
        self.handle = handle
        self.needsHTTP2 = needsHTTP2
    }

    deinit {
        SSL_free(handle)
        ERR_clear_error()
    }

    /// Why the handshake has ended, once it has.
    package private(set) var refusal: Refusal?

    /// Why the connection has ended, once it has, in the words of OpenSSL or the system.
    package private(set) var ending: String?

    /// Whether bytes of the peer may be here already, of which `poll` on the socket knows nothing.
    package var holdsBytes: Bool { SSL_has_pending(handle) == 1 }

    /// Goes on with the handshake; a connection that needs `h2` and does not get it ends with it.
    package func handshake() -> Progress {
        ERR_clear_error()
        let result = SSL_do_handshake(handle)
        guard result == 1 else {
            let progress = progress(result)
            if progress == .ended { refusal = reason() }
            return progress
        }
        guard !needsHTTP2 || speaksHTTP2 else {
            refusal = .noHTTP2
            return .ended
        }
        return .done(0)
    }

    package func read(into buffer: UnsafeMutableRawBufferPointer) -> Progress {
        ERR_clear_error()
        let result = SSL_read(handle, buffer.baseAddress, Int32(clamping: buffer.count))
        return result > 0 ? .done(Int(result)) : progress(result)
    }

    /// Takes some of `bytes`, at least one.
    ///
    /// After `needsWriting` the same bytes have to be offered again, from whatever address; more may follow them.
    package func write(_ bytes: UnsafeRawBufferPointer) -> Progress {
        ERR_clear_error()
        let result = SSL_write(handle, bytes.baseAddress, Int32(clamping: bytes.count))
        return result > 0 ? .done(Int(result)) : progress(result)
    }

    /// Tells the peer that nothing more comes; does not wait for it to agree.
    package func sayGoodbye() {
        ERR_clear_error()
        SSL_shutdown(handle)
    }

    /// Whether `h2` is what both sides agreed on, and not merely something.
    private var speaksHTTP2: Bool {
        var name: UnsafePointer<UInt8>?
        var length: UInt32 = 0
        SSL_get0_alpn_selected(handle, &name, &length)
        return UnsafeBufferPointer(start: name, count: Int(length)).elementsEqual("h2".utf8)
    }

    private func progress(_ result: Int32) -> Progress {
        let system = errno
        switch SSL_get_error(handle, result) {
        case SSL_ERROR_WANT_READ: return .needsReading
        case SSL_ERROR_WANT_WRITE: return .needsWriting
        case SSL_ERROR_SSL: ending = OpenSSLErrors.drain()
        case SSL_ERROR_SYSCALL where system != 0: ending = String(cString: strerror(system))
        default: ending = "the peer closed it"
        }
        return .ended
    }

    private func reason() -> Refusal {
        let verdict = SSL_get_verify_result(handle)
        guard verdict == Int(X509_V_OK) else {
            let words = X509_verify_cert_error_string(verdict).map { String(cString: $0) }
            return .certificate(words ?? "the certificate was not accepted")
        }
        return .other(ending ?? "no reason was given")
    }
}
