import Foundation
import Synchronization

/// A TCP server on loopback.
///
/// Each connection runs a script on a dedicated thread. The server adds no HTTP, so that a test can send anything.
final class RawServer: Sendable {
    private struct State {
        var requests: [RawRequest] = []
        var connections: [RawConnection] = []
        var isStopped = false
    }

    let port: UInt16
    private let listener: CInt
    private let state = Mutex(State())

    /// The complete requests of all connections, in order of arrival.
    var requests: [RawRequest] { state.withLock { $0.requests } }

    var connectionCount: Int { state.withLock { $0.connections.count } }

    init(_ script: @escaping @Sendable (RawConnection) -> Void) throws {
        (listener, port) = try TestSocket.listening(backlog: 64)
        let thread = Thread { [self] in accept(script) }
        thread.start()
    }

    func url(_ path: String = "/") -> String { "http://127.0.0.1:\(port)\(path)" }

    /// Cuts every connection and ends the threads.
    func stop() {
        let connections = state.withLock { state in
            state.isStopped = true
            return state.connections
        }
        shutdown(listener, CInt(SHUT_RDWR))
        for connection in connections { connection.cut() }
    }

    private func accept(_ script: @escaping @Sendable (RawConnection) -> Void) {
        while true {
            let descriptor = Foundation.accept(listener, nil, nil)
            guard descriptor >= 0 else { break }
            _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
            let connection: RawConnection? = state.withLock { state in
                guard !state.isStopped else { return nil }
                let connection = RawConnection(descriptor, index: state.connections.count) { [weak self] request in
                    self?.state.withLock { $0.requests.append(request) }
                }
                state.connections.append(connection)
                return connection
            }
            guard let connection else {
                Foundation.close(descriptor)
                break
            }
            Thread {
                script(connection)
                connection.cut()
            }.start()
        }
        Foundation.close(listener)
    }
}
