import Glibc

/// How an `HTTP2Transport` behaves; everything has a default that suits a push provider.
package struct HTTP2TransportOptions: Sendable {
    /// Names the thread (Linux shows the first 15 bytes) and the transport in error texts.
    package var name: String

    /// Connections to one host and port at the same time; the first one is filled before the next is opened.
    package var maxConnectionsPerHost = 2

    /// Streams on one connection; the peer's own limit applies too.
    package var maxConcurrentStreams = 100

    /// Whether a fresh connection carries one request at a time until an answer to one has begun, whatever it says.
    ///
    /// For peers that take more only from a client they have come to know (APNs). A warm-up that fails is followed by
    /// the next request, again alone; meanwhile no other connection is opened to that host.
    package var warmsUp = false

    /// Requests in flight at most, over all hosts; the rest waits in the transport's own queue, where no timeout runs.
    ///
    /// A host that has none in flight gets one even where the others have used it up.
    package var window = 100

    /// Connections in all; one that is idle makes room for one that is needed.
    package var maxConnections = 64

    /// Bytes of an answer's body that are kept; a longer one arrives marked as truncated.
    package var bodyLimit = 64 * 1024

    /// PEM file with the authorities to trust instead of the system's.
    package var authoritiesFile: String?

    /// A connection that has been idle for longer is closed.
    package var maxIdleAge: Duration = .seconds(3600)

    /// A connection that has been idle for longer is asked whether it still lives before it gets a request.
    package var trust: Duration = .seconds(5)

    /// How long a peer may leave that question open, take nothing although there is something for it, or allow no
    /// request at all, before the connection is given up.
    package var patience: Duration = .seconds(10)

    /// Which addresses may be connected to.
    package var addressPolicy: AddressPolicy = .any

    /// How long `close` lets requests in flight end before it abandons them.
    package var closeGrace: Duration = .seconds(5)

    package init(name: String) {
        self.name = name
    }

    /// Refuses what cannot work, so that a wrong setting is found at the start and not by the first push.
    func validate() throws(TransferError) {
        let sizes = [maxConnectionsPerHost, maxConcurrentStreams, window, maxConnections, bodyLimit]
        guard sizes.allSatisfy({ $0 > 0 && $0 <= Int(Int32.max) }) else {
            throw refusal("connections, streams, window and body limit must be between 1 and \(Int32.max)")
        }
        guard closeGrace >= .zero, closeGrace <= .seconds(3600) else {
            throw refusal("the grace for closing must be between nothing and an hour")
        }
        guard [maxIdleAge, trust, patience].allSatisfy({ $0 > .zero && $0 <= .seconds(86_400) }) else {
            throw refusal("idle age, trust and patience must be more than nothing and at most a day")
        }
    }

    func refusal(_ reason: String) -> TransferError {
        TransferError(.invalidOptions, "cannot open the transport \"\(name)\": \(reason)")
    }
}
