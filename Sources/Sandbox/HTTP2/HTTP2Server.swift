import HTTPServer
import ServiceRuntime
import TLS

/// A server of HTTP/2 over TLS: one thread, any number of connections and streams, answers now or later.
///
/// Runs from `start` until `stop`, also when nobody holds it any more.
final class HTTP2Server: Sendable {
    /// Where it listens, with the real port where any was asked for.
    let address: ListenAddress
    let loop: ServerLoop

    /// Listens and serves from the return of this call on.
    static func start(
        listen: ListenAddress,
        identity: TLSIdentity,
        limits: HTTP2Limits,
        handler: any HTTP2Handler
    ) throws(SandboxError) -> HTTP2Server {
        let tls = try identity.serverContext()
        return try start(try .listen(on: listen), tls, limits, handler)
    }

    /// The part behind an open socket, so that its port is known to whoever makes the handler.
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

    /// Open connections, those in their handshake among them.
    var openConnections: Int { loop.openConnections }

    /// Takes no new connections and streams, gives the open ones at most `grace`, closes everything.
    func stop(grace: Duration = .seconds(5)) async {
        await loop.stop(grace: grace)
    }
}
