/// How much a client may ask of the HTTP/2 server.
package struct HTTP2Limits: Sendable {
    /// Streams that one connection may have open (`SETTINGS_MAX_CONCURRENT_STREAMS`).
    package var concurrentStreams: UInt32
    /// The same for a client that no answer has called proven yet (`HTTP2Answer.provesClient`); nil for no difference.
    package var unprovenStreams: UInt32?
    /// Names and values of one request together; more is answered with 431.
    package var headerBytes: Int
    /// A longer body is read to its end, thrown away, and answered with 413.
    package var bodyBytes: Int
    /// Connections at once; more wait unaccepted.
    package var connections: Int
    /// From the accepted connection to the end of the TLS handshake; whoever takes longer is cut off.
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
