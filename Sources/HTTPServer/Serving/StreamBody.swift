import CMicroHTTPD
import Synchronization

/// The bridge from a stream of pieces to libmicrohttpd, which requests bytes and is suspended while there are none.
final class StreamBody: Sendable {
    private struct State {
        var pieces: [[UInt8]] = []
        /// The sent bytes of the first piece.
        var offset = 0
        var hasEnded = false
        /// Whether the connection is suspended; it cannot end until it is resumed.
        var isSuspended = false
        var pump: Task<Void, Never>?
        /// The pump, if it waits for the client to accept pending pieces.
        var waiting: CheckedContinuation<Void, Never>?
    }

    /// The maximum number of pieces that wait for a slow client; beyond it, the producer's own buffer decides.
    private static let mostPieces = 16

    private let stream: AsyncStream<[UInt8]>
    private let connection: ClientConnection
    /// Called with true when the client must accept the pending data within an answer's time limit, and with false when
    /// it has caught up.
    ///
    /// The limit applies when the client is far behind, and after the end of the stream. It is called while the
    /// connection is still open.
    private let isDue: @Sendable (Bool) -> Void
    private let state = Mutex(State())

    init(_ stream: AsyncStream<[UInt8]>, on connection: ClientConnection, isDue: @escaping @Sendable (Bool) -> Void) {
        self.stream = stream
        self.connection = connection
        self.isDue = isDue
    }

    /// Ends the response after the data that the client has already received.
    func end() { finish(discarding: true) }

    func makeResponse() -> OpaquePointer? {
        let retained = Unmanaged.passRetained(self)
        let response = bellhop_stream_response(
            { context, _, buffer, size in
                guard let context, let buffer else { return bellhop_end_of_stream }
                let body = Unmanaged<StreamBody>.fromOpaque(context).takeUnretainedValue()
                return body.read(into: UnsafeMutableRawBufferPointer(start: buffer, count: size))
            },
            retained.toOpaque(),
            { context in
                guard let context else { return }
                Unmanaged<StreamBody>.fromOpaque(context).takeRetainedValue().release()
            }
        )
        if response == nil { retained.release() }
        return response
    }

    /// Called on libmicrohttpd's thread; the first call starts the pump.
    private func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        let (count, waiting) = state.withLock { state -> (Int, CheckedContinuation<Void, Never>?) in
            if state.pump == nil, !state.hasEnded { state.pump = Task { await self.pump() } }
            guard let piece = state.pieces.first else {
                if state.hasEnded { return (bellhop_end_of_stream, nil) }
                state.isSuspended = true
                connection.suspend()
                return (0, nil)
            }
            let count = min(buffer.count, piece.count - state.offset)
            buffer.copyBytes(from: piece[state.offset..<state.offset + count])
            state.offset += count
            guard state.offset == piece.count else { return (count, nil) }
            state.pieces.removeFirst()
            state.offset = 0
            if state.waiting != nil, !state.hasEnded { isDue(false) }
            defer { state.waiting = nil }
            return (count, state.waiting)
        }
        waiting?.resume()
        return count
    }

    private func pump() async {
        for await piece in stream where !piece.isEmpty {
            // After the end, `add` drops the pieces; only a request for the next piece notifies a producer of a
            // cancellation.
            await add(piece)
        }
        finish(discarding: false)
    }

    private func add(_ piece: [UInt8]) async {
        await withCheckedContinuation { continuation in
            let mayGoOn = state.withLock { state in
                if state.hasEnded { return true }
                state.pieces.append(piece)
                wake(&state)
                guard state.pieces.count >= Self.mostPieces else { return true }
                state.waiting = continuation
                isDue(true)
                return false
            }
            if mayGoOn { continuation.resume() }
        }
    }

    private func finish(discarding: Bool) {
        let (pump, waiting) = state.withLock { state in
            // Under the lock: until then the response is not released, and the connection not closed.
            if !state.hasEnded, !discarding { isDue(true) }
            state.hasEnded = true
            if discarding {
                // A piece that libmicrohttpd has begun to send is completed.
                state.pieces = state.offset > 0 ? Array(state.pieces.prefix(1)) : []
            }
            wake(&state)
            defer { state.waiting = nil }
            return (state.pump, state.waiting)
        }
        waiting?.resume()
        guard discarding else { return }
        if let pump { pump.cancel() } else { stream.abandon() }
    }

    /// Ends the stream after the response has been released, sent or not, because it has no reader left.
    private func release() { finish(discarding: true) }

    private func wake(_ state: inout State) {
        guard state.isSuspended else { return }
        state.isSuspended = false
        connection.resume()
    }
}

extension AsyncStream where Element: Sendable {
    /// Cancels the stream although it has no reader; its producer is notified as if a reader had gone.
    func abandon() {
        Task {
            withUnsafeCurrentTask { $0?.cancel() }
            for await _ in self {}
        }
    }
}
