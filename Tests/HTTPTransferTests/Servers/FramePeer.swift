import Foundation
import Synchronization
import TLS
import TestSupport

/// One connection of a `FrameServer`, on a thread of its own, in the hands of a script.
///
/// Thread safety: the script's thread alone uses it, except for `cut`, which any thread may call.
final class FramePeer: @unchecked Sendable {
    /// A request whose last byte has arrived.
    struct Request: Sendable, Equatable {
        /// Counts the server's connections from 0.
        let connection: Int
        let stream: UInt32
        /// Over all connections, from 0.
        let index: Int
        let fields: [String]
        let body: [UInt8]

        var text: String { String(decoding: body, as: UTF8.self) }

        /// The value of the first field of this name.
        func field(_ name: String) -> String? {
            fields.first { $0.hasPrefix("\(name): ") }.map { String($0.dropFirst(name.count + 2)) }
        }
    }

    /// Counts the server's connections from 0.
    let index: Int

    /// Whether it answers pings and acknowledges settings.
    var isCourteous = true

    private let descriptor: CInt
    private let channel: FrameChannel
    private let record: @Sendable (FramePeer, HeaderReader.Fields, [UInt8], UInt32) -> Request
    private let headerReader = HeaderReader()
    private let isOpen = Mutex(true)
    private var bodies: [UInt32: (fields: HeaderReader.Fields, body: [UInt8])] = [:]

    /// Streams that the client has given up, with its codes.
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

    /// Ends the connection in both directions; the descriptor is closed when nobody can use it any more.
    func cut() {
        isOpen.withLock { isOpen in
            guard isOpen else { return }
            isOpen = false
            shutdown(descriptor, CInt(SHUT_RDWR))
        }
    }

    /// Ends what the server sends, and returns when the client has closed the connection.
    func finish() {
        shutdown(descriptor, CInt(SHUT_WR))
        waitForPeerToClose()
    }

    /// The handshake and the client's preface; false where the client goes away before.
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

    /// The next frame of any kind; nil at the end.
    func next() -> Frame? {
        channel.next()
    }

    /// The next request that is complete; nil at the end.
    func nextRequest() -> Request? {
        while let frame = next() {
            if let request = take(frame) { return request }
        }
        return nil
    }

    /// Everything that the client has said so far, and the requests that were complete with it.
    ///
    /// A ping goes there and back, behind whatever was sent before it.
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

    /// Reads until the client closes.
    func waitForPeerToClose() {
        while next() != nil {}
    }

    /// What it is in the protocol's manners to do with a frame; gives a request once it is complete.
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

    /// A whole answer; with the body of the request unless another is given.
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
