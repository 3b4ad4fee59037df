import Foundation
import Synchronization
import TLS
import TestSupport

/// One connection of a `FrameServer`, on a dedicated thread, controlled by a script.
///
/// Thread safety: only the script's thread uses it, except for `cut`, which any thread may call.
final class FramePeer: @unchecked Sendable {
    /// A request whose last byte has arrived.
    struct Request: Sendable, Equatable {
        /// The connection's number, counted by the server from 0.
        let connection: Int
        let stream: UInt32
        /// The request's number over all connections, from 0.
        let index: Int
        let fields: [String]
        let body: [UInt8]

        var text: String { String(decoding: body, as: UTF8.self) }

        /// The value of the first field with this name.
        func field(_ name: String) -> String? {
            fields.first { $0.hasPrefix("\(name): ") }.map { String($0.dropFirst(name.count + 2)) }
        }
    }

    /// The connection's number, counted by the server from 0.
    let index: Int

    /// Whether the peer answers pings and acknowledges settings.
    var isCourteous = true

    private let descriptor: CInt
    private let channel: FrameChannel
    private let record: @Sendable (FramePeer, HeaderReader.Fields, [UInt8], UInt32) -> Request
    private let headerReader = HeaderReader()
    private let isOpen = Mutex(true)
    private var bodies: [UInt32: (fields: HeaderReader.Fields, body: [UInt8])] = [:]

    /// The error codes of the streams that the client has reset.
    private(set) var resets: [UInt32: UInt32] = [:]

    init(
        _ descriptor: CInt,
        _ tls: TLSConnection,
        index: Int,
        record: @escaping @Sendable (FramePeer, HeaderReader.Fields, [UInt8], UInt32) -> Request
    ) {
        self.descriptor = descriptor
        channel = FrameChannel(tls)
        self.index = index
        self.record = record
    }

    deinit {
        close(descriptor)
    }

    /// Ends the connection in both directions.
    ///
    /// The descriptor is closed when nothing can use it any longer.
    func cut() {
        isOpen.withLock { isOpen in
            guard isOpen else { return }
            isOpen = false
            shutdown(descriptor, CInt(SHUT_RDWR))
        }
    }

    /// Ends the server's direction, and returns when the client has closed the connection.
    func finish() {
        shutdown(descriptor, CInt(SHUT_WR))
        waitForPeerToClose()
    }

    /// Runs the handshake and reads the client's preface.
    ///
    /// It returns `false` if the client disconnects before.
    func begin() -> Bool {
        channel.shakeHands() && channel.takePreface()
    }

    @discardableResult
    func send(_ frames: Frame...) -> Bool {
        send(frames.flatMap(\.encoded))
    }

    @discardableResult
    func send(_ bytes: [UInt8]) -> Bool {
        channel.send(bytes)
    }

    /// Returns the next frame of any kind, or `nil` at the end.
    func next() -> Frame? {
        channel.next()
    }

    /// Returns the next complete request, or `nil` at the end.
    func nextRequest() -> Request? {
        while let frame = next() {
            if let request = take(frame) { return request }
        }
        return nil
    }

    /// Returns everything that the client has sent so far, and the requests that it completed.
    ///
    /// The method sends a ping and waits for the answer, which follows everything that the client sent before.
    func roundTrip() -> (frames: [Frame], requests: [Request]) {
        var frames: [Frame] = []
        var requests: [Request] = []
        send(Frame(kind: .ping, payload: [1, 2, 3, 4, 5, 6, 7, 8]))
        while let frame = next(), frame.kind != .ping || !frame.acknowledges {
            frames.append(frame)
            if let request = take(frame) { requests.append(request) }
        }
        return (frames, requests)
    }

    /// Reads until the client closes the connection.
    func waitForPeerToClose() {
        while next() != nil {}
    }

    /// Handles a frame as the protocol requires, and returns the request that it completes.
    func take(_ frame: Frame) -> Request? {
        switch frame.kind {
        case .settings where !frame.acknowledges && isCourteous:
            send(Frame(kind: .settings, flags: Frame.acknowledgement))
        case .ping where !frame.acknowledges && isCourteous:
            send(Frame(kind: .ping, flags: Frame.acknowledgement, payload: frame.payload))
        case .reset:
            resets[frame.stream] = frame.payload.reduce(0) { $0 << 8 | UInt32($1) }
        case .headers:
            bodies[frame.stream] = (headerReader.read(frame.payload), [])
        case .data:
            bodies[frame.stream]?.body += frame.payload
            send(.windowUpdate(0, by: UInt32(max(frame.payload.count, 1))))
        default: break
        }
        guard frame.kind == .headers || frame.kind == .data, frame.endsStream,
            let (fields, body) = bodies.removeValue(forKey: frame.stream)
        else { return nil }
        return record(self, fields, body, frame.stream)
    }

    /// Sends a complete answer.
    ///
    /// Its body is the request's body unless another is given.
    @discardableResult
    func answer(
        _ request: Request,
        status: Int = 200,
        _ fields: [(String, String)] = [],
        body: String? = nil
    ) -> Bool {
        let head = Frame.headers(request.stream, [(":status", String(status))] + fields)
        return send(head, .data(request.stream, body ?? request.text, endsStream: true))
    }
}
