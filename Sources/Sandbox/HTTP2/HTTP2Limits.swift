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
