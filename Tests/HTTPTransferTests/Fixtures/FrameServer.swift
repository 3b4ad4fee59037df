import Foundation
import HTTPTransfer
import Synchronization
import TLS
import TestSupport

/// An HTTP/2 server over TLS.
///
/// Each connection runs a script, frame by frame, on a dedicated thread.
final class FrameServer: Sendable {
    typealias Script = @Sendable (FramePeer) -> Void

    private struct State {
        var requests: [FramePeer.Request] = []
        var peers: [FramePeer] = []
        var ended = 0
        var isStopped = false
    }

    let port: UInt16
    let certificate: TestCertificate
    private let listener: CInt
    private let context: TLSServerContext
    private let state = Mutex(State())

    /// The complete requests of all connections, in order of arrival.
    var requests: [FramePeer.Request] { state.withLock { $0.requests } }
    var requestCount: Int { state.withLock { $0.requests.count } }
    /// The requests' bodies as text, sorted.
    var bodies: [String] { requests.map(\.text).sorted() }
    var connectionCount: Int { state.withLock { $0.peers.count } }
    /// The number of connections whose scripts have ended.
    var endedCount: Int { state.withLock { $0.ended } }

    /// Runs `script` for each connection, after TLS and the client's preface.
    init(address: TestSocket.Address = .v4, certificate: TestCertificate? = nil, _ script: @escaping Script) throws {
        let certificate = try certificate ?? TestCertificate()
        self.certificate = certificate
        context = try TLSServerContext(certificate: certificate.certificate(), key: certificate.key())
        (listener, port) = try TestSocket.listening(address, backlog: 64)
        Thread { [self] in accept(script) }.start()
    }

    /// Makes a server that answers every request with the request's body.
    static func echoing(
        _ settings: [Frame.Setting: UInt32] = [:],
        certificate: TestCertificate? = nil
    ) throws -> FrameServer {
        try FrameServer(certificate: certificate) { peer in
            peer.send(.settings(settings))
            while let request = peer.nextRequest() { peer.answer(request) }
        }
    }

    func url(_ path: String = "/", host: String = "localhost") -> String { "https://\(host):\(port)\(path)" }

    /// Makes a request that its body distinguishes from others.
    func post(_ body: String = "body", timeouts: TransferTimeouts = .generous) -> TransferRequest {
        TransferRequest(.post, url: url(), body: Array(body.utf8), timeouts: timeouts)
    }

    /// Cuts every connection and ends the threads.
    func stop() {
        let peers = state.withLock { state in
            state.isStopped = true
            return state.peers
        }
        shutdown(listener, CInt(SHUT_RDWR))
        for peer in peers { peer.cut() }
    }

    private func accept(_ script: @escaping Script) {
        while true {
            let descriptor = Foundation.accept(listener, nil, nil)
            guard descriptor >= 0 else { break }
            guard let peer = take(descriptor) else { continue }
            Thread { [self] in
                if peer.begin() { script(peer) }
                peer.cut()
                state.withLock { $0.ended += 1 }
            }.start()
        }
        close(listener)
    }

    private func take(_ descriptor: CInt) -> FramePeer? {
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        var limit = timeval(tv_sec: Int(LongestWait.seconds), tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        return state.withLock { state in
            guard !state.isStopped, let tls = context.makeConnection(over: descriptor) else {
                close(descriptor)
                return nil
            }
            let peer = FramePeer(descriptor, tls, index: state.peers.count) { [weak self] peer, fields, body, stream in
                self?.record(peer, fields, body, stream)
                    ?? .init(connection: peer.index, stream: stream, index: -1, fields: fields, body: body)
            }
            state.peers.append(peer)
            return peer
        }
    }

    private func record(
        _ peer: FramePeer,
        _ fields: HeaderReader.Fields,
        _ body: [UInt8],
        _ stream: UInt32
    ) -> FramePeer.Request {
        state.withLock { state in
            let request = FramePeer.Request(
                connection: peer.index,
                stream: stream,
                index: state.requests.count,
                fields: fields,
                body: body
            )
            state.requests.append(request)
            return request
        }
    }
}
