import COpenSSL

/// The server's end of one TLS connection over a socket that does not block; stays on one thread.
final class TLSConnection {
    /// How far an attempt came.
    enum Progress: Equatable {
        case done(Int)
        /// Nothing more until the socket has more to read.
        case needsReading
        /// Nothing more until the socket takes more.
        case needsWriting
        /// The connection is over, in peace or not.
        case ended
    }

    private let handle: OpaquePointer

    init(owning handle: OpaquePointer) {
        self.handle = handle
    }

    deinit {
        SSL_free(handle)
        ERR_clear_error()
    }

    /// Goes on with the handshake; ends the connection of a client that offers no `h2`.
    func handshake() -> Progress {
        ERR_clear_error()
        let result = SSL_do_handshake(handle)
        guard result == 1 else { return progress(result) }
        var name: UnsafePointer<UInt8>?
        var length: UInt32 = 0
        SSL_get0_alpn_selected(handle, &name, &length)
        return length == 2 ? .done(0) : .ended
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> Progress {
        ERR_clear_error()
        let result = SSL_read(handle, buffer.baseAddress, Int32(clamping: buffer.count))
        return result > 0 ? .done(Int(result)) : progress(result)
    }

    func write(_ bytes: UnsafeRawBufferPointer) -> Progress {
        ERR_clear_error()
        let result = SSL_write(handle, bytes.baseAddress, Int32(clamping: bytes.count))
        return result > 0 ? .done(Int(result)) : progress(result)
    }

    /// Tells the client that nothing more comes; does not wait for it to agree.
    func sayGoodbye() {
        ERR_clear_error()
        SSL_shutdown(handle)
    }

    private func progress(_ result: Int32) -> Progress {
        switch SSL_get_error(handle, result) {
        case SSL_ERROR_WANT_READ: .needsReading
        case SSL_ERROR_WANT_WRITE: .needsWriting
        default: .ended
        }
    }
}
