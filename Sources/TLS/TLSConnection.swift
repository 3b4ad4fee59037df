import COpenSSL
import Cryptography
import Glibc

/// One end of a TLS connection over a socket that does not block; confined to one thread.
package final class TLSConnection {
    /// The result of an attempt.
    package enum Progress: Equatable {
        case done(Int)
        /// The attempt needs more input from the socket.
        case needsReading
        /// The attempt needs space for output in the socket.
        case needsWriting
        /// The connection has ended, properly or not.
        case ended
    }

    /// The reason for a failed handshake.
    package enum Refusal: Equatable {
        /// The peer's certificate is not accepted.
        case certificate(String)
        /// The peer supports TLS but not HTTP/2.
        case noHTTP2
        /// Any other reason, in the wording of OpenSSL or the system.
        case other(String)
    }

    private let handle: OpaquePointer
    private let needsHTTP2: Bool
    /// Collects the output, if ``collectOutput(atMost:)`` was called; owned by `handle`.
    private var collector: OpaquePointer?

    init(owning handle: OpaquePointer, needsHTTP2: Bool = true) {
        self.handle = handle
        self.needsHTTP2 = needsHTTP2
    }

    deinit {
        SSL_free(handle)
        ERR_clear_error()
    }

    /// The reason why the handshake failed, if it did.
    package private(set) var refusal: Refusal?

    /// The reason why the connection has ended, if it has, in the wording of OpenSSL or the system.
    package private(set) var ending: String?

    /// Whether bytes of the peer may already be buffered, which `poll` on the socket does not report.
    package var holdsBytes: Bool { SSL_has_pending(handle) == 1 }

    /// Continues the handshake; a connection that requires `h2` and does not get it ends with the handshake.
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

    /// Writes a part of `bytes`, at least one byte.
    ///
    /// After ``collectOutput(atMost:)``, the bytes may wait for ``flush()``.
    ///
    /// After `needsWriting`, the same bytes must be passed again, from any address; more may follow them.
    package func write(_ bytes: UnsafeRawBufferPointer) -> Progress {
        ERR_clear_error()
        let result = SSL_write(handle, bytes.baseAddress, Int32(clamping: bytes.count))
        return result > 0 ? .done(Int(result)) : progress(result)
    }

    /// Collects the records of later writes in memory until ``flush()``, or until they exceed `bytes`.
    ///
    /// Without it, each record of at most 16 KiB takes a system call. Called after the handshake.
    package func collectOutput(atMost bytes: Int) { collector = bellhop_collect_output(handle, Int(bytes)) }

    /// Sends the collected output; `done` means that the socket has all of it.
    package func flush() -> Progress {
        guard let collector else { return .done(0) }
        errno = 0
        guard bellhop_flush(collector) != 1 else { return .done(0) }
        guard BIO_test_flags(collector, BIO_FLAGS_SHOULD_RETRY) == 0 else { return .needsWriting }
        let system = errno
        ending = system == 0 ? "the peer closed it" : String(cString: strerror(system))
        return .ended
    }

    /// The bytes that the socket has accepted; a collected record does not count.
    ///
    /// It is 0 without ``collectOutput(atMost:)``.
    package var sentBytes: UInt64 { collector.map { BIO_number_written(BIO_next($0)) } ?? 0 }

    /// Notifies the peer of the end of the output, without waiting for its confirmation.
    package func sayGoodbye() {
        ERR_clear_error()
        SSL_shutdown(handle)
    }

    /// Whether both sides agreed on `h2`, and not on another protocol or none.
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

/// The reason why a TLS context could not be created.
package struct TLSError: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Code: Hashable, Sendable {
        /// The trusted authorities cannot be read, or the input contains none.
        case authorities
        /// The certificate or its key is not usable.
        case identity
        /// OpenSSL has no memory.
        case resources
    }

    package let code: Code

    /// The attempted operation, the error, and the required action.
    package let text: String

    package var description: String { text }

    init(_ code: Code, attempted: String, whatToDo: String) {
        self.code = code
        text = "\(attempted): \(OpenSSLErrors.drain()); \(whatToDo)"
    }
}
