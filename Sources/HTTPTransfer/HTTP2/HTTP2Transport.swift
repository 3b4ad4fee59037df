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

    deinit {
        inbox.post(.abandon)
    }

    package func send(_ requests: [TransferRequest]) async -> [TransferOutcome] {
        await inbox.send(requests)
    }

    package func retireConnections() {
        inbox.post(.retire)
    }

    package func close() async {
        await inbox.close()
    }
}
