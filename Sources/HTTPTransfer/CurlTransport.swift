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

    deinit {
        connections.abandon()
    }

    package func send(_ requests: [TransferRequest]) async -> [TransferOutcome] {
        await connections.send(requests)
    }

    package func close() async {
        await connections.close()
    }
}
