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
    func stop(grace: Duration = .seconds(5)) async { await loop.stop(grace: grace) }
}

/// The limits for clients of the HTTP/2 server.
package struct HTTP2Limits: Sendable {
    /// Streams that one connection may have open (`SETTINGS_MAX_CONCURRENT_STREAMS`).
    package var concurrentStreams: UInt32
    /// The same limit before an answer proves the client (`HTTP2Answer.provesClient`); `nil` for the same limit.
    package var unprovenStreams: UInt32?
    /// Maximum bytes of the names and values of one request together; larger requests are answered with 431.
    package var headerBytes: Int
    /// Maximum bytes of a body; a longer body is read to its end, discarded and answered with 413.
    package var bodyBytes: Int
    /// Maximum open connections; further ones wait unaccepted.
    package var connections: Int
    /// Maximum time from the accepted connection to the end of the TLS handshake; slower clients are cut off.
    package var handshakeTimeout: Duration

    package init(
        concurrentStreams: UInt32 = 1_000,
        headerBytes: Int = 16 * 1_024,
        bodyBytes: Int = 1_024 * 1_024,
        connections: Int = 1_024,
        handshakeTimeout: Duration = .seconds(10)
    ) {
        self.concurrentStreams = concurrentStreams
        unprovenStreams = nil
        self.headerBytes = headerBytes
        self.bodyBytes = bodyBytes
        self.connections = connections
        self.handshakeTimeout = handshakeTimeout
    }
}
