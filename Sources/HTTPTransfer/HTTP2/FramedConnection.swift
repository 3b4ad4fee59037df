import CNGHTTP2
import Glibc
import TLS

/// A session of libnghttp2 on a TLS connection: moves frames between the two.
///
/// Confined to the loop's thread. The session lives exactly as long as this object, which lives for as long as one of its
/// methods runs: a callback that ends the connection does not delete the session that has called it. Callbacks may
/// submit frames; libnghttp2 forbids them to `receive` and to `flush`.
final class FramedConnection {
    /// What one TLS record holds.
    private static let recordSize = 16 * 1024

    private let tls: TLSConnection
    private let socket: OwnedSocket
    private let session: OpaquePointer
    private let tools: ConnectionTools

    /// One record at most, and what is left of it when the socket takes no more: OpenSSL wants to see the same bytes again.
    private var outbound: [UInt8] = []
    private var outboundSent = 0
    private var writeWaitsToWrite = false
    private var readWaitsToWrite = false

    /// When anything at all came from the peer last.
    private(set) var lastSign: ContinuousClock.Instant

    /// Since when the peer takes nothing, although there is something for it.
    private(set) var blockedSince: ContinuousClock.Instant?

    /// Bytes that have come since any of them helped a request on.
    private var barrenBytes = 0

    /// More has come than one turn reads, part of which only OpenSSL knows of: another turn is due without waiting.
    private(set) var hasMore = false

    /// Nil where memory is out; `connection` gets the callbacks and must outlive this.
    init?(
        _ tls: TLSConnection,
        _ socket: OwnedSocket,
        for connection: PeerConnection,
        tools: ConnectionTools,
        now: ContinuousClock.Instant
    ) {
        guard let session = tools.callbacks.makeSession(for: connection) else { return nil }
        self.tls = tls
        self.socket = socket
        self.session = session
        self.tools = tools
        lastSign = now
        // A usual answer fits into its stream's window, and those of all streams into the connection's.
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

    /// How many streams the peer allows at once.
    var allowedStreams: Int { Int(bellhop_allowed_streams(session)) }

    /// The session has nothing more to say and nothing more to hear.
    var isOver: Bool { nghttp2_session_want_read(session) == 0 && nghttp2_session_want_write(session) == 0 }

    /// Opens a stream; nil where their numbers are used up, or memory is.
    ///
    /// The exchange must live until its stream is closed, or the session is deleted.
    func submit(_ exchange: Exchange, _ fields: RequestFields) -> Int32? {
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

    /// A request was sent, or its answer has come further.
    func noteProgress() {
        barrenBytes = 0
    }

    func ping() {
        nghttp2_submit_ping(session, bellhop_no_flags, nil)
    }

    /// Reads what has come, at most half a megabyte, so that other connections have their turn; a failure is the end.
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
                // What is still in the socket wakes `poll`; to ask for it here would cost a call more.
                guard tls.holdsBytes else { return nil }
            }
        }
        hasMore = true
        return nil
    }

    /// Writes what the session has to say, as far as the socket takes it; a failure is the end.
    func flush() -> ConnectionFailure? {
        writeWaitsToWrite = false
        while true {
            guard collect() else { return ConnectionFailure(.library, "libnghttp2 cannot go on") }
            guard outboundSent < outbound.count else { return nil }
            let progress = outbound.withUnsafeBytes { tls.write(UnsafeRawBufferPointer(rebasing: $0[outboundSent...])) }
            switch progress {
            case .done(let count):
                outboundSent += count
                blockedSince = nil
            case .needsWriting:
                writeWaitsToWrite = true
                blockedSince = blockedSince ?? .now
                return nil
            case .needsReading: return nil
            case .ended: return lost
            }
        }
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

    /// Four times the longest head of an answer: a peer that sends more that no request needs costs processor time only.
    private static let mostBarrenBytes = 256 * 1024

    private static let flood = ConnectionFailure(.protocolViolation, "the peer sends frames that no request needs")

    /// What the peer says when it does not keep to the protocol.
    static let violation = ConnectionFailure(.protocolViolation, "what the peer sent is not proper HTTP/2")

    private var lost: ConnectionFailure {
        ConnectionFailure(.connectionLost, "the connection ended (\(tls.ending ?? "no reason was given"))")
    }
}
