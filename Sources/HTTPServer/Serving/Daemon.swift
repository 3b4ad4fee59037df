import CMicroHTTPD
import Foundation
import ServiceRuntime
import Synchronization

/// A running daemon of libmicrohttpd: its thread, its listening socket, and the core that its callbacks use.
///
/// Thread safety: the pointer never changes. Quiescing and stopping are allowed from any thread, and `HTTPServer` does
/// each once and in this order.
final class Daemon: @unchecked Sendable {
    private let pointer: OpaquePointer
    /// The listening socket until the daemon has stopped; the port is free with its last reference.
    private let socket: Mutex<ListeningSocket?>
    /// The reference for the callbacks, retained until no more of them can run.
    private let core: Unmanaged<ServerCore>

    init(_ socket: ListeningSocket, core: ServerCore) throws {
        let retained = Unmanaged.passRetained(core)
        var options = bellhop_daemon_options()
        options.listen_socket = socket.descriptor
        options.connection_memory = max(4_096, core.limits.headerBytes)
        options.connections = UInt32(clamping: max(1, core.limits.connections))
        options.idle_seconds = UInt32(clamping: max(1, (core.limits.receiveTimeout.microseconds + 999_999) / 1_000_000))
        options.context = retained.toOpaque()
        options.on_access = onAccess
        options.on_uri = onURI
        options.on_completed = onCompleted
        options.on_connection = onConnection
        guard let pointer = bellhop_start_daemon(&options) else {
            let words = String(cString: strerror(errno))
            retained.release()
            throw HTTPServerError(code: .resources, address: socket.address, cameBack: words)
        }
        self.pointer = pointer
        self.socket = Mutex(socket)
        self.core = retained
    }

    /// Rejects new connections from now on; open ones continue.
    func stopListening() {
        _ = MHD_quiesce_daemon(pointer)
        // The descriptor must stay open until the daemon has stopped, but no client should wait in its queue.
        socket.withLock { socket in
            if let socket { shutdown(socket.descriptor, Int32(SHUT_RDWR)) }
        }
    }

    /// Closes all connections and ends the thread.
    ///
    /// It blocks until the thread has ended; no connection may be suspended.
    func stop() {
        MHD_stop_daemon(pointer)
        socket.withLock { $0 = nil }
        core.release()
    }
}

private func core(_ context: UnsafeMutableRawPointer) -> ServerCore {
    Unmanaged<ServerCore>.fromOpaque(context).takeUnretainedValue()
}

/// Receives the request line; the result is passed to every later call for the request.
private func onURI(
    _ context: UnsafeMutableRawPointer?,
    _ uri: UnsafePointer<CChar>?,
    _ connection: OpaquePointer?
) -> UnsafeMutableRawPointer? {
    // Bytes that are not valid UTF-8 become replacement characters, which no route has.
    Unmanaged.passRetained(ServerExchange(uri: uri.map { String(cString: $0) } ?? "")).toOpaque()
}

private func onAccess(
    _ context: UnsafeMutableRawPointer?,
    _ connection: OpaquePointer?,
    _ url: UnsafePointer<CChar>?,
    _ method: UnsafePointer<CChar>?,
    _ version: UnsafePointer<CChar>?,
    _ upload: UnsafePointer<CChar>?,
    _ uploadSize: UnsafeMutablePointer<Int>?,
    _ state: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
) -> MHD_Result {
    guard let context, let connection, let method, let uploadSize, let state = state?.pointee else { return bellhop_no }
    let exchange = Unmanaged<ServerExchange>.fromOpaque(state).takeUnretainedValue()
    let step = core(context).access(
        exchange,
        method: String(cString: method),
        upload: UnsafeRawBufferPointer(start: upload, count: upload == nil ? 0 : uploadSize.pointee),
        on: ClientConnection(pointer: connection)
    )
    // All bytes were consumed.
    uploadSize.pointee = 0
    return step == .goOn ? bellhop_yes : bellhop_no
}

private func onCompleted(
    _ context: UnsafeMutableRawPointer?,
    _ connection: OpaquePointer?,
    _ state: UnsafeMutablePointer<UnsafeMutableRawPointer?>?,
    _ reason: MHD_RequestTerminationCode
) {
    guard let context, let connection, let pointer = state?.pointee else { return }
    state?.pointee = nil
    let exchange = Unmanaged<ServerExchange>.fromOpaque(pointer).takeRetainedValue()
    core(context).connections.answered(ClientConnection(pointer: connection).identity)
    core(context).completed(exchange)
}

private func onConnection(
    _ context: UnsafeMutableRawPointer?,
    _ connection: OpaquePointer?,
    _ socketContext: UnsafeMutablePointer<UnsafeMutableRawPointer?>?,
    _ event: MHD_ConnectionNotificationCode
) {
    guard let context, let connection else { return }
    let identity = ClientConnection(pointer: connection).identity
    if event == bellhop_connection_started {
        core(context).connections.opened(identity, descriptor: bellhop_connection_socket(connection))
    } else {
        core(context).connections.closed(identity)
    }
}
