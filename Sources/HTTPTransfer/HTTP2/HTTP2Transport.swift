import Glibc
import ServiceRuntime

/// A libnghttp2 transport that supports only HTTP/2 over TLS, at a fraction of libcurl's cost per request.
///
/// One dedicated thread runs all connections of the transport. The requests to one host share a connection until its
/// streams are used up. Credentials that must not share a connection (two teams of one provider) need separate
/// transports. Releasing the last reference also ends the thread, without waiting for that.
///
/// A peer that allows few streams at first (APNs allows one until it has accepted a token) gets no more than it allows.
/// A request that a peer rejects unprocessed, with a stream reset or a GOAWAY, is sent again automatically.
package final class HTTP2Transport: HTTPTransport {
    private let inbox: TransferInbox

    /// Creates the transport; nothing is connected yet.
    package init(_ options: HTTP2TransportOptions) throws(TransferError) {
        try options.validate()
        let loop = try ConnectionLoop(options)
        inbox = loop.inbox
        NativeThread.start(named: options.name) { loop.run() }
    }

    deinit { inbox.post(.abandon) }

    package func send(_ requests: [TransferRequest]) async -> [TransferOutcome] {
        await inbox.send(requests)
    }

    package func retireConnections() { inbox.post(.retire) }

    package func close() async { await inbox.close() }
}

/// The options of an `HTTP2Transport`.
///
/// The defaults suit a push provider.
package struct HTTP2TransportOptions: Sendable {
    /// The name of the thread (Linux shows the first 15 bytes) and of the transport in error texts.
    package var name: String

    /// Concurrent connections to one host and port; the first one is filled before the next is opened.
    package var maxConnectionsPerHost = 2

    /// Streams on one connection; the peer's own limit also applies.
    package var maxConcurrentStreams = 100

    /// Whether a new connection carries only one request until an answer has begun, regardless of the peer's limit.
    ///
    /// This suits peers that allow more only after they have accepted a client (APNs). After a failed warm-up, the next
    /// request is again sent alone. Meanwhile no other connection to that host is opened.
    package var warmsUp = false

    /// Maximum requests in flight over all hosts; the rest waits in the transport's queue, where no timeout runs.
    ///
    /// A host with no request in flight gets one even if the other hosts have used up the window.
    package var window = 100

    /// Maximum connections in total; an idle connection is closed if another is needed.
    package var maxConnections = 64

    /// The maximum bytes of an answer's body; a longer body is marked as truncated.
    package var bodyLimit = 64 * 1024

    /// A PEM file with the trusted authorities, used instead of the system's.
    package var authoritiesFile: String?

    /// The idle time after which a connection is closed.
    package var maxIdleAge: Duration = .seconds(3600)

    /// The idle time after which a connection must answer a ping before it gets a request.
    package var trust: Duration = .seconds(5)

    /// The time after which a connection is abandoned if the peer leaves that ping unanswered, accepts no output, or
    /// allows no request.
    package var patience: Duration = .seconds(10)

    /// The addresses that the transport may connect to.
    package var addressPolicy: AddressPolicy = .any

    /// The time that `close` gives to requests in flight before it abandons them.
    package var closeGrace: Duration = .seconds(5)

    package init(name: String) { self.name = name }

    /// Rejects unusable options, so that a wrong setting is detected at the start and not by the first push.
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
