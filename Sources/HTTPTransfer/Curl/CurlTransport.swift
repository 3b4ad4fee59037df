/// A libcurl transport for a small number of requests.
///
/// It uses HTTP/2 if the peer supports it, HTTP/1.1 otherwise, and plain HTTP on request.
///
/// Credentials that must not share a connection (two teams of one provider) need separate transports. Releasing the
/// last reference also ends the connections, without waiting for that.
package final class CurlTransport: HTTPTransport {
    private let connections: BlockingConnectionPool<CurlConnection>

    /// Creates the transport; nothing is connected yet.
    package init(_ options: CurlTransportOptions) throws(TransferError) {
        try options.validate()
        connections = try BlockingConnectionPool(options)
    }

    deinit { connections.abandon() }

    package func send(_ requests: [TransferRequest]) async -> [TransferOutcome] {
        await connections.send(requests)
    }

    package func close() async { await connections.close() }
}

/// The options of a `CurlTransport`.
///
/// The defaults suit occasional requests.
package struct CurlTransportOptions: Sendable {
    /// The name of the threads (Linux shows the first 15 bytes) and of the transport in error texts.
    package var name: String

    /// Concurrent requests, each with a dedicated connection and thread.
    ///
    /// Further requests wait in the transport's queue, where no timeout runs.
    package var connections = 2

    /// The maximum bytes of an answer's body; a longer body is marked as truncated.
    package var bodyLimit = 64 * 1024

    /// A PEM file with the trusted authorities, used instead of the system's.
    package var authoritiesFile: String?

    /// Whether `http` URLs are sent.
    ///
    /// Otherwise, only `https` requests are sent.
    package var allowsPlainHTTP = false

    /// The time that `close` gives to requests in flight before it abandons them.
    package var closeGrace: Duration = .seconds(5)

    package init(name: String) { self.name = name }
}

extension CurlTransportOptions: BlockingConnectionOptions {
    /// Rejects unusable options, so that a wrong setting is detected at the start and not by the first push.
    func validate() throws(TransferError) {
        try validateLanes()
        guard (1...Int(Int32.max)).contains(bodyLimit) else {
            throw refusal("the body limit must be between 1 and \(Int32.max)")
        }
    }

    func refusal(_ reason: String) -> TransferError {
        TransferError(.invalidOptions, "cannot open the transport \"\(name)\": \(reason)")
    }
}
