import Foundation
import TLS

/// Both ends of a connection within this process, which the test drives step by step.
final class ConnectionPair {
    let client: TLSConnection
    let server: TLSConnection
    private let sockets: [CInt]

    struct Failure: Error {}

    init(_ clientContext: TLSClientContext, _ serverContext: TLSServerContext, host: String) throws {
        var sockets: [CInt] = [-1, -1]
        let kind = CInt(SOCK_STREAM.rawValue) | CInt(SOCK_NONBLOCK.rawValue) | CInt(SOCK_CLOEXEC.rawValue)
        guard socketpair(AF_UNIX, kind, 0, &sockets) == 0 else { throw Failure() }
        self.sockets = sockets
        guard let client = clientContext.makeConnection(over: sockets[0], to: host),
            let server = serverContext.makeConnection(over: sockets[1])
        else { throw Failure() }
        self.client = client
        self.server = server
    }

    deinit {
        for socket in sockets { close(socket) }
    }

    /// Ends the server's side without a TLS goodbye.
    func cutServer() {
        shutdown(sockets[1], CInt(SHUT_RDWR))
    }

    /// Runs the handshake on both sides in turn and returns the result of each side.
    func shakeHands() -> (client: TLSConnection.Progress, server: TLSConnection.Progress) {
        var outcome = (client: TLSConnection.Progress.needsReading, server: TLSConnection.Progress.needsReading)
        for _ in 0..<10 {
            if !Self.isFinal(outcome.client) { outcome.client = client.handshake() }
            if !Self.isFinal(outcome.server) { outcome.server = server.handshake() }
        }
        return outcome
    }

    /// Reads the bytes that have arrived at `end` so far.
    static func read(_ end: TLSConnection) -> (bytes: [UInt8], last: TLSConnection.Progress) {
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 5000)
        while true {
            let progress = piece.withUnsafeMutableBytes { end.read(into: $0) }
            guard case .done(let count) = progress else { return (bytes, progress) }
            bytes += piece.prefix(count)
        }
    }

    private static func isFinal(_ progress: TLSConnection.Progress) -> Bool {
        progress == .done(0) || progress == .ended
    }
}
