import Foundation
import Synchronization

/// A TCP server on loopback whose every connection runs a script on a thread of its own.
///
/// It speaks no HTTP by itself, so that a test can misbehave in any way it likes.
final class RawServer: Sendable {
    private struct State {
        var requests: [RawRequest] = []
        var connections: [RawConnection] = []
        var isStopped = false
    }

    let port: UInt16
    private let listener: CInt
    private let state = Mutex(State())

    /// Everything that was read in full, over all connections, in order of arrival.
    var requests: [RawRequest] { state.withLock { $0.requests } }

    var connectionCount: Int { state.withLock { $0.connections.count } }

    init(_ script: @escaping @Sendable (RawConnection) -> Void) throws {
        (listener, port) = try LoopbackSocket.listening(backlog: 64)
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

/// Sockets on 127.0.0.1 for tests.
enum LoopbackSocket {
    struct Failure: Error {
        let call: String
        let reason: Int32
    }

    /// A bound, listening socket and the port that the kernel chose.
    static func listening(backlog: CInt) throws -> (descriptor: CInt, port: UInt16) {
        let (descriptor, port) = try bound()
        guard listen(descriptor, backlog) == 0 else { throw Failure(call: "listen", reason: errno) }
        return (descriptor, port)
    }

    /// A port on which nobody listens.
    static func unusedPort() throws -> UInt16 {
        let (descriptor, port) = try bound()
        close(descriptor)
        return port
    }

    /// A connection attempt that does not wait for its success.
    static func connecting(to port: UInt16) -> CInt {
        let descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue) | CInt(SOCK_NONBLOCK.rawValue), 0)
        withAddress(port) { _ = connect(descriptor, $0, $1) }
        return descriptor
    }

    /// Whether somebody accepts connections on `port`.
    static func accepts(port: UInt16) -> Bool {
        let descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        return withAddress(port) { connect(descriptor, $0, $1) } == 0
    }

    private static func bound() throws -> (descriptor: CInt, port: UInt16) {
        let descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw Failure(call: "socket", reason: errno) }
        guard withAddress(0, { bind(descriptor, $0, $1) }) == 0 else { throw Failure(call: "bind", reason: errno) }
        var address = sockaddr_in()
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let result = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &length) }
        }
        guard result == 0 else { throw Failure(call: "getsockname", reason: errno) }
        return (descriptor, UInt16(bigEndian: address.sin_port))
    }

    @discardableResult
    private static func withAddress<R>(_ port: UInt16, _ body: (UnsafePointer<sockaddr>, socklen_t) -> R) -> R {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr = in_addr(s_addr: UInt32(0x7f00_0001).bigEndian)
        return withUnsafePointer(to: address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
    }
}
