package import ServiceRuntime

/// The limits for clients of a server.
package struct HTTPLimits: Sendable {
    /// Maximum bytes of a body; a larger body is answered with 413.
    package var bodyBytes: Int
    /// Maximum bytes of stored bodies over all connections, in each ``BodyBudget``.
    ///
    /// A body that exceeds it is answered with 503.
    package var allBodiesBytes = 32 << 20
    /// Memory of one connection in bytes, about the maximum of the request line and all headers together; more is a
    /// 431.
    package var headerBytes: Int
    /// Maximum open connections; further ones wait unaccepted.
    package var connections: Int
    /// Maximum open connections from one address; further ones are closed immediately.
    ///
    /// `nil` for any number.
    package var connectionsPerAddress: Int?
    /// Addresses without this limit, such as a proxy.
    package var manyFrom: [AddressRange] = []
    /// The maximum time from the first byte, or the end of the last answer, until a request has been received
    /// completely.
    ///
    /// Slower clients are disconnected, even if they send steadily.
    package var receiveTimeout: Duration
    /// The maximum time from the first byte of an answer until its last byte has been accepted.
    ///
    /// For a stream, it is the maximum time for which the client may be some pieces behind, or may take to accept the
    /// rest after the end. Slower clients are disconnected, because a few of them could occupy every connection.
    package var sendTimeout: Duration

    /// Creates limits that suit an API with small JSON bodies.
    package init(
        bodyBytes: Int = 256 * 1_024,
        headerBytes: Int = 32 * 1_024,
        connections: Int = 1_024,
        receiveTimeout: Duration = .seconds(20),
        sendTimeout: Duration = .seconds(20)
    ) {
        self.bodyBytes = bodyBytes
        self.headerBytes = headerBytes
        self.connections = connections
        self.receiveTimeout = receiveTimeout
        self.sendTimeout = sendTimeout
    }
}
