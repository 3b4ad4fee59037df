package import ServiceRuntime

/// How much a client may ask of a server.
package struct HTTPLimits: Sendable {
    /// A larger body is answered with 413.
    package var bodyBytes: Int
    /// Bytes of bodies that are kept at the same time, over all connections; a body that exceeds it is answered with 503.
    package var allBodiesBytes = 32 << 20
    /// Memory of one connection: about what the request line and all headers may take together; more is a 431.
    package var headerBytes: Int
    /// Connections at once; more wait unaccepted.
    package var connections: Int
    /// Connections at once from one address; whoever has as many is disconnected at once.
    ///
    /// Nil for any number.
    package var connectionsPerAddress: Int?
    /// Where any number may come from, such as a proxy.
    package var manyFrom: [AddressRange] = []
    /// From the first byte, or the end of the last answer, until a request has arrived whole.
    ///
    /// Whoever takes longer is disconnected, however steadily they drip.
    package var receiveTimeout: Duration
    /// From the first byte of an answer until its last has been taken; so long may the reader of a stream be
    /// some pieces behind, and take what is left after its end.
    ///
    /// Whoever reads more slowly is disconnected, since a few such readers could hold every connection.
    package var sendTimeout: Duration

    /// Limits that suit an API of small JSON bodies.
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
