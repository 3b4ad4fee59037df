import CNGHTTP2
import Glibc
import TLS

/// A libnghttp2 session on a TLS connection, which moves frames between the two.
///
/// Confined to the loop's thread. The session lives exactly as long as this object, and this object lives while one of
/// its methods runs. A callback that ends the connection therefore does not delete the session that has called it.
/// Callbacks may submit frames; libnghttp2 forbids them to call `receive` and `flush`.
final class FramedConnection {
    /// The capacity of one TLS record.
    private static let recordSize = 16 * 1024
    /// The number of bytes that one system call sends if the socket accepts them.
    private static let writeSize = 64 * 1024

    private let tls: TLSConnection
    private let socket: OwnedSocket
    private let session: OpaquePointer
    private let tools: ConnectionContext

    /// At most one record, or the rest of it if the socket accepts no more; OpenSSL requires the same bytes again.
    private var outbound: [UInt8] = []
    private var outboundSent = 0
    private var writeWaitsToWrite = false
    private var readWaitsToWrite = false

    /// The time of the last input from the peer.
    private(set) var lastSign: ContinuousClock.Instant

    /// The time since which the peer has accepted no output although there is some.
    private(set) var blockedSince: ContinuousClock.Instant?

    /// The bytes received since the last progress of a request.
    private var barrenBytes = 0

    /// Whether more input is available than one turn reads.
    ///
    /// Part of it may be visible only to OpenSSL, so another turn is due without waiting.
    private(set) var hasMore = false

    /// Creates the session; returns `nil` if memory is exhausted.
    ///
    /// `connection` gets the callbacks and must outlive this object.
    init?(
        _ tls: TLSConnection,
        _ socket: OwnedSocket,
        for connection: PeerConnection,
        tools: ConnectionContext,
        now: ContinuousClock.Instant
    ) {
        guard let session = tools.callbacks.makeSession(for: connection) else { return nil }
        self.tls = tls
        self.socket = socket
        self.session = session
        self.tools = tools
        lastSign = now
        tls.collectOutput(atMost: Self.writeSize)
        // A usual answer fits into its stream's window, and the answers of all streams fit into the connection's
        // window.
        let window: Int32 = 1 << 20
        guard bellhop_submit_client_settings(session, UInt32(window), 64 * 1024) == 0,
            nghttp2_session_set_local_window_size(session, bellhop_no_flags, 0, 16 * window) == 0
        else { return nil }
    }

    deinit {
        tls.sayGoodbye()
        nghttp2_session_del(session)
    }

    var interest: pollfd {
        let wantsToWrite = writeWaitsToWrite || readWaitsToWrite
        return pollfd(fd: socket.descriptor, events: Int16(wantsToWrite ? POLLIN | POLLOUT : POLLIN), revents: 0)
    }

    /// The number of concurrent streams that the peer allows.
    var allowedStreams: Int { Int(bellhop_allowed_streams(session)) }

    /// Whether the session has nothing left to send or to receive.
    var isOver: Bool { nghttp2_session_want_read(session) == 0 && nghttp2_session_want_write(session) == 0 }

    /// Opens a stream; returns `nil` if no stream numbers or no memory are left.
    ///
    /// The exchange must live until its stream is closed or the session is deleted.
    func submit(_ exchange: HTTP2Exchange, _ fields: RequestFields) -> Int32? {
        var source = nghttp2_data_provider()
        source.source.ptr = Unmanaged.passUnretained(exchange).toOpaque()
        source.read_callback = readRequestBody
        let stream = fields.withPairs(bodyLength: exchange.body.count) { pairs, count in
            exchange.body.count > 0
                ? nghttp2_submit_request(session, nil, pairs, count, &source, nil)
                : nghttp2_submit_request(session, nil, pairs, count, nil, nil)
        }
        return stream.flatMap { $0 > 0 ? $0 : nil }
    }

    func reset(_ stream: Int32) {
        nghttp2_submit_rst_stream(session, bellhop_no_flags, stream, bellhop_cancel)
    }

    /// Records that a request was sent, or that its answer has progressed.
    func noteProgress() { barrenBytes = 0 }

    func ping() { nghttp2_submit_ping(session, bellhop_no_flags, nil) }

    /// Reads available input, at most half a megabyte so that other connections have their turn; a returned failure is
    /// final.
    func receive(now: ContinuousClock.Instant) -> ConnectionFailure? {
        hasMore = false
        readWaitsToWrite = false
        for _ in 0..<32 {
            switch tls.read(into: tools.readBuffer) {
            case .needsReading: return nil
            case .needsWriting:
                readWaitsToWrite = true
                return nil
            case .ended: return lost
            case .done(let count):
                lastSign = now
                barrenBytes += count
                let start = tools.readBuffer.baseAddress?.assumingMemoryBound(to: UInt8.self)
                guard nghttp2_session_mem_recv(session, start, count) >= 0 else { return Self.violation }
                guard barrenBytes <= Self.mostBarrenBytes else { return Self.flood }
                // Remaining input in the socket wakes `poll`; checking for it here would cost another call.
                guard tls.holdsBytes else { return nil }
            }
        }
        hasMore = true
        return nil
    }

    /// Writes the session's output until the socket accepts no more; a returned failure is final.
    func flush() -> ConnectionFailure? {
        writeWaitsToWrite = false
        let sentBefore = tls.sentBytes
        while true {
            guard collect() else { return ConnectionFailure(.library, "libnghttp2 cannot go on") }
            let isWritten = outboundSent == outbound.count
            switch isWritten ? tls.flush() : writeRecord() {
            case .done(let count):
                outboundSent += count
                guard isWritten else { continue }
                blockedSince = nil
                return nil
            case .needsWriting:
                writeWaitsToWrite = true
                // A record that was only collected does not prove that the peer reads.
                if blockedSince == nil || tls.sentBytes > sentBefore { blockedSince = .now }
                return nil
            case .needsReading: return nil
            case .ended: return lost
            }
        }
    }

    private func writeRecord() -> TLSConnection.Progress {
        outbound.withUnsafeBytes { tls.write(UnsafeRawBufferPointer(rebasing: $0[outboundSent...])) }
    }

    /// Fills one TLS record, so that the frames of many requests share it.
    private func collect() -> Bool {
        guard outboundSent == outbound.count else { return true }
        outbound.removeAll(keepingCapacity: true)
        outboundSent = 0
        while outbound.count < Self.recordSize {
            var start: UnsafePointer<UInt8>?
            let count = nghttp2_session_mem_send(session, &start)
            guard count > 0 else { return count == 0 }
            outbound.append(contentsOf: UnsafeBufferPointer(start: start, count: count))
        }
        return true
    }

    /// The limit of bytes without progress: four times the longest head of an answer.
    ///
    /// Frames beyond that cost only processor time.
    private static let mostBarrenBytes = 256 * 1024

    private static let flood = ConnectionFailure(.protocolViolation, "the peer sends frames that no request needs")

    /// The failure for a peer that violates the protocol.
    static let violation = ConnectionFailure(.protocolViolation, "what the peer sent is not proper HTTP/2")

    private var lost: ConnectionFailure {
        ConnectionFailure(.connectionLost, "the connection ended (\(tls.ending ?? "no reason was given"))")
    }
}
