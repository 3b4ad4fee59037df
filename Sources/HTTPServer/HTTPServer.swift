package import ServiceRuntime
import Synchronization

/// An HTTP/1.1 server on one thread of libmicrohttpd; handlers are asynchronous and hold no thread while they wait.
///
/// Runs from `start` until `stop`, also when nobody holds it any more.
package final class HTTPServer: Sendable {
    /// Where it listens, with the real port where any was asked for.
    package let address: ListenAddress
    private let core: ServerCore
    private let daemon: Daemon
    private let sweeper: Task<Void, Never>
    private let stopping = Mutex<Task<Void, Never>?>(nil)

    /// Listens and serves from the return of this call on.
    ///
    /// `admission` is asked about each request that announces a body. Throws `HTTPServerError` where the address is taken or
    /// cannot be used.
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

    /// Requests that have arrived whole and are not answered to the last byte.
    package var activeRequests: Int { core.activeCount }

    /// Open connections.
    package var openConnections: Int { core.connections.count }

    /// Refuses new requests, ends streams, waits for running handlers at most `grace`, then closes everything.
    ///
    /// A handler that is not done by then is cancelled and its client gets a 503. Returns when the port is free; called
    /// again it waits for the same end.
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
        // Time for the last answers to reach their sockets; whoever does not read theirs is cut off.
        await core.waitUntilIdle(.seconds(1))
        await withCheckedContinuation { continuation in
            NativeThread.start(named: "http-stop") { [daemon] in
                daemon.stop()
                continuation.resume()
            }
        }
    }
}
