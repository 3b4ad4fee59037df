package import ServiceRuntime
import Synchronization

/// An HTTP/1.1 server on one thread of libmicrohttpd; handlers are asynchronous and occupy no thread while they wait.
///
/// It runs from `start` until `stop`, even if no reference to it remains.
package final class HTTPServer: Sendable {
    /// The address on which it listens, with the real port if port 0 was requested.
    package let address: ListenAddress
    private let core: ServerCore
    private let daemon: Daemon
    private let sweeper: Task<Void, Never>
    private let stopping = Mutex<Task<Void, Never>?>(nil)

    /// Starts to listen; requests are served as soon as this call returns.
    ///
    /// `admission` is called for each request that announces a body. Throws `HTTPServerError` if the address is taken
    /// or unusable.
    package static func start(
        listen: ListenAddress,
        limits: HTTPLimits = HTTPLimits(),
        admission: HTTPAdmission? = nil,
        handler: @escaping HTTPHandler
    ) throws -> HTTPServer {
        let socket = try ListeningSocket.open(listen)
        let core = ServerCore(limits: limits, admission: admission, handler: handler)
        return HTTPServer(address: socket.address, core: core, daemon: try Daemon(socket, core: core))
    }

    private init(address: ListenAddress, core: ServerCore, daemon: Daemon) {
        self.address = address
        self.core = core
        self.daemon = daemon
        let connections = core.connections
        let interval = min(.seconds(1), core.limits.receiveTimeout / 4, core.limits.sendTimeout / 4)
        sweeper = Task {
            while (try? await Task.sleep(for: interval)) != nil {
                connections.shutDownLate()
            }
        }
    }

    /// Requests that have been received completely and whose answers are not completely sent.
    package var activeRequests: Int { core.activeCount }

    /// Open connections.
    package var openConnections: Int { core.connections.count }

    /// Rejects new requests, ends streams, waits at most `grace` for running handlers, and then closes everything.
    ///
    /// A handler that has not finished by then is cancelled, and its client gets a 503. Returns when the port is free;
    /// a repeated call waits for the same end.
    package func stop(grace: Duration = .seconds(5)) async {
        let task = stopping.withLock { stopping in
            if let stopping { return stopping }
            let task = Task { await shutDown(grace) }
            stopping = task
            return task
        }
        await task.value
    }

    private func shutDown(_ grace: Duration) async {
        sweeper.cancel()
        daemon.stopListening()
        core.stopAccepting()
        await core.waitUntilIdle(grace)
        core.abandonHandlers()
        // The last answers get time to reach their sockets; clients that do not read theirs are cut off.
        await core.waitUntilIdle(.seconds(1))
        await withCheckedContinuation { continuation in
            NativeThread.start(named: "http-stop") { [daemon] in
                daemon.stop()
                continuation.resume()
            }
        }
    }
}
