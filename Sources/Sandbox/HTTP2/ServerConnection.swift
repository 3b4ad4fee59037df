import CNGHTTP2
import Glibc
import TLS

/// One client: its socket, its TLS and its HTTP/2 session, all on the thread of the loop.
final class ServerConnection {
    /// The event for which the loop must watch the socket.
    enum SocketInterest: Equatable {
        case reading
        /// Output waits for the socket.
        ///
        /// Until it is written, nothing is read, so that a client that does not read its answers cannot fill the
        /// server's memory.
        case writing
        /// More input is available than one turn reads; the other connections get their turns first.
        case anotherTurn
        case end
    }

    private enum Phase {
        case handshake
        case open(session: OpaquePointer)
        case ended
    }

    let id: UInt64
    let socket: Int32
    /// The wish that the loop last registered with epoll.
    var watched = SocketInterest.reading
    private let loop: ServerLoop
    private let tls: TLSConnection
    private var phase = Phase.handshake
    private var streams: [Int32: ServerStream] = [:]
    /// The stream whose header fields are being received, which happens without interruption.
    private var receiving: ServerStream?
    private var isDropped = false
    private var isProven = false
    private var outbound: [UInt8] = []
    private var outboundSent = 0
    private var fields = AnswerFields()

    /// Takes ownership of the socket.
    init(id: UInt64, socket: Int32, tls: TLSConnection, loop: ServerLoop) {
        self.id = id
        self.socket = socket
        self.tls = tls
        self.loop = loop
    }

    deinit {
        if case .open(let session) = phase { nghttp2_session_del(session) }
        close(socket)
    }

    var isInHandshake: Bool { if case .handshake = phase { true } else { false } }

    /// Performs all work that is possible now.
    func turn() -> SocketInterest {
        if case .handshake = phase, let wish = shakeHands() { return wish }
        for _ in 0..<4 {
            let sent = flush()
            guard sent == .reading else { return sent }
            guard let more = receive() else { return .end }
            guard more else { return flush() }
        }
        let sent = flush()
        return sent == .reading ? .anotherTurn : sent
    }

    /// Tells the client that it may finish its open requests and start no new ones.
    func beginGoodbye() {
        guard case .open(let session) = phase else { return }
        let last = nghttp2_session_get_last_proc_stream_id(session)
        nghttp2_submit_goaway(session, bellhop_no_flags, last, bellhop_no_error, nil, 0)
    }

    /// Ends the session; the socket closes with the last reference.
    func finish() {
        guard case .open(let session) = phase else {
            phase = .ended
            return
        }
        if !isDropped { tls.sayGoodbye() }
        nghttp2_session_del(session)
        phase = .ended
        streams = [:]
        receiving = nil
    }

    /// Returns `nil` if the handshake is complete.
    private func shakeHands() -> SocketInterest? {
        switch tls.handshake() {
        case .needsReading: return .reading
        case .needsWriting: return .writing
        case .ended: return .end
        case .done: break
        }
        guard let session = loop.callbacks.makeSession(for: self) else { return .end }
        phase = .open(session: session)
        let limits = loop.limits
        let status = bellhop_submit_server_settings(
            session,
            limits.unprovenStreams ?? limits.concurrentStreams,
            UInt32(clamping: limits.headerBytes)
        )
        nghttp2_session_set_local_window_size(session, bellhop_no_flags, 0, 1 << 24)
        return status == 0 ? nil : .end
    }

    /// Reads at most half a megabyte.
    ///
    /// - Returns: whether there may be more; `nil` if the connection has ended.
    private func receive() -> Bool? {
        guard case .open(let session) = phase else { return nil }
        for _ in 0..<32 {
            switch tls.read(into: loop.readBuffer) {
            case .needsReading, .needsWriting: return false
            case .ended: return nil
            case .done(let count):
                let start = loop.readBuffer.baseAddress?.assumingMemoryBound(to: UInt8.self)
                guard nghttp2_session_mem_recv(session, start, count) >= 0 else {
                    // The client's error is described in a GOAWAY that is still to be sent.
                    _ = flush()
                    return nil
                }
            }
        }
        return true
    }

    /// Writes the session's output; returns `.reading` if all of it has been written.
    private func flush() -> SocketInterest {
        guard case .open(let session) = phase else { return .end }
        while true {
            guard collect(session) else { return .end }
            guard outboundSent < outbound.count else { break }
            let progress = outbound.withUnsafeBytes { tls.write(UnsafeRawBufferPointer(rebasing: $0[outboundSent...])) }
            switch progress {
            case .done(let count): outboundSent += count
            case .needsWriting, .needsReading: return isDropped ? .end : .writing
            case .ended: return .end
            }
        }
        let isOver = nghttp2_session_want_read(session) == 0 && nghttp2_session_want_write(session) == 0
        return isOver || isDropped ? .end : .reading
    }

    /// Fills one TLS record, so that the frames of many answers share it.
    private func collect(_ session: OpaquePointer) -> Bool {
        guard outboundSent == outbound.count else { return true }
        outbound.removeAll(keepingCapacity: true)
        outboundSent = 0
        while outbound.count < 16 * 1_024 {
            var start: UnsafePointer<UInt8>?
            let count = nghttp2_session_mem_send(session, &start)
            guard count > 0 else { return count == 0 }
            outbound.append(contentsOf: UnsafeBufferPointer(start: start, count: count))
        }
        return true
    }
}

// The events that the session's callbacks report.
extension ServerConnection {
    func beginRequest(_ id: Int32) {
        let stream = ServerStream(id: id)
        streams[id] = stream
        receiving = stream
    }

    func receiveField(_ id: Int32, name: UnsafeBufferPointer<UInt8>, value: UnsafeBufferPointer<UInt8>) {
        guard let receiving, receiving.id == id else { return }
        receiving.append(name: name, value: value, limit: loop.limits.headerBytes)
    }

    func receiveBody(_ id: Int32, _ bytes: UnsafeBufferPointer<UInt8>) {
        streams[id]?.append(bytes, limit: loop.limits.bodyBytes)
    }

    func endRequest(_ id: Int32) {
        guard let stream = streams[id] else { return }
        if let excess = stream.excess {
            return answer(HTTP2Answer.html(excess == .body ? 413 : 431, "Too Large"), on: stream)
        }
        let request = HTTP2Request(connection: self.id, headers: stream.headers, body: stream.body)
        let reaction = loop.handler.react(to: request)
        guard reaction.delay <= .zero else {
            return loop.carryOut(reaction.action, after: reaction.delay, connection: self.id, stream: id)
        }
        carryOut(reaction.action, on: stream)
    }

    func closeStream(_ id: Int32) {
        if receiving?.id == id { receiving = nil }
        streams[id] = nil
    }

    /// Performs an action that a timer delayed; does nothing if the stream has been closed in the meantime.
    func carryOut(_ action: HTTP2Reaction.Action, stream id: Int32) {
        guard let stream = streams[id] else { return }
        carryOut(action, on: stream)
    }

    /// Releases one more byte of a slow answer.
    ///
    /// - Returns: whether more bytes remain.
    func drip(stream id: Int32) -> Bool {
        guard case .open(let session) = phase, let stream = streams[id] else { return false }
        let hasMore = stream.releaseByte()
        nghttp2_session_resume_data(session, id)
        return hasMore
    }

    private func carryOut(_ action: HTTP2Reaction.Action, on stream: ServerStream) {
        guard case .open(let session) = phase else { return }
        switch action {
        case .answer(let answer): self.answer(answer, on: stream)
        case .answerSlowly(let answer, let interval):
            self.answer(answer, on: stream, released: 0)
            loop.drip(every: interval, connection: id, stream: stream.id)
        case .answerPartly(let answer):
            self.answer(answer, on: stream, released: answer.body.count / 2)
            isDropped = true
        case .resetStream:
            nghttp2_submit_rst_stream(session, bellhop_no_flags, stream.id, bellhop_internal_error)
        case .goAway:
            nghttp2_submit_goaway(session, bellhop_no_flags, max(0, stream.id - 2), bellhop_no_error, nil, 0)
        case .dropConnection: isDropped = true
        }
    }

    private func answer(_ answer: HTTP2Answer, on stream: ServerStream, released: Int = .max) {
        guard case .open(let session) = phase, !stream.isAnswered else { return }
        if answer.provesClient { proveClient(session) }
        stream.answer(with: answer.body, released: released)
        var source = nghttp2_data_provider()
        source.source.ptr = Unmanaged.passUnretained(stream).toOpaque()
        source.read_callback = readAnswerBody
        var status: Int32 = 0
        fields.withPairs(answer) { pairs, count in
            status =
                answer.body.isEmpty && released > 0
                ? nghttp2_submit_response(session, stream.id, pairs, count, nil)
                : nghttp2_submit_response(session, stream.id, pairs, count, &source)
        }
        guard status != 0 else { return }
        nghttp2_submit_rst_stream(session, bellhop_no_flags, stream.id, bellhop_internal_error)
    }

    /// Tells the client that it may open the full number of streams.
    private func proveClient(_ session: OpaquePointer) {
        guard loop.limits.unprovenStreams != nil, !isProven else { return }
        isProven = true
        let limits = loop.limits
        _ = bellhop_submit_server_settings(session, limits.concurrentStreams, UInt32(clamping: limits.headerBytes))
    }
}
