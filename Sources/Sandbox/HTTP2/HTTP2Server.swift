import HTTPServer
import ServiceRuntime
import TLS

/// An HTTP/2 server over TLS with one thread and any number of connections and streams; answers may be delayed.
///
/// It runs from `start` until `stop`, even if no reference to it remains.
final class HTTP2Server: Sendable {
    /// The address on which it listens, with the real port if port 0 was requested.
    let address: ListenAddress
    let loop: ServerLoop

    /// Starts to listen; requests are served as soon as this call returns.
    static func start(
        listen: ListenAddress,
        identity: TLSIdentity,
        limits: HTTP2Limits,
        handler: any HTTP2Handler
    ) throws(SandboxError) -> HTTP2Server {
        let tls = try identity.serverContext()
        return try start(try .listen(on: listen), tls, limits, handler)
    }

    /// Starts on an open socket, so that the port is known before the handler is created.
    static func start(
        _ socket: ListeningSocket,
        _ tls: TLSServerContext,
        _ limits: HTTP2Limits,
        _ handler: any HTTP2Handler
    ) throws(SandboxError) -> HTTP2Server {
        ProcessSignal.ignoreBrokenPipes()
        let loop = try ServerLoop(listener: socket, tls: tls, limits: limits, handler: handler)
        NativeThread.start(named: "http2-server") { loop.run() }
        return HTTP2Server(address: socket.address, loop: loop)
    }

    private init(address: ListenAddress, loop: ServerLoop) {
        self.address = address
        self.loop = loop
    }

    /// Open connections, including those in their handshake.
    var openConnections: Int { loop.openConnections }

    /// Accepts no new connections and streams, gives open ones at most `grace` to end, and then closes everything.
    func stop(grace: Duration = .seconds(5)) async {
        await loop.stop(grace: grace)
    }
}
