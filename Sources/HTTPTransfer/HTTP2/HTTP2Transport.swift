import ServiceRuntime

/// A transport over libnghttp2: HTTP/2 over TLS and nothing else, at a fraction of libcurl's cost for a request.
///
/// One thread of its own runs every connection of the transport; the requests to one host share a connection until its
/// streams are used up. Credentials that must not share a connection (two teams of one provider) need a transport each.
/// Releasing the last reference ends the thread too, without waiting for it.
///
/// A peer that allows few streams at first (APNs allows one until it has accepted a token) gets no more than it allows;
/// a request that a peer refuses unprocessed, by its stream or with a farewell, is sent again by itself.
package final class HTTP2Transport: HTTPTransport {
    private let inbox: TransferInbox

    /// Opens the transport; nothing is connected yet.
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
