import ServiceRuntime

/// A transport over libcurl, for requests that are few: HTTP/2 where the peer speaks it, HTTP/1.1 where it does not,
/// plain HTTP and proxies where asked for.
///
/// One thread of its own runs every transfer of the transport. Credentials that must not share a connection (two teams
/// of one provider) need a transport each. Releasing the last reference ends the thread too, without waiting for it.
package final class CurlTransport: HTTPTransport {
    private let inbox: TransferInbox

    /// Opens the transport; nothing is connected yet.
    package init(_ options: CurlTransportOptions) throws(TransferError) {
        try options.validate()
        let loop = try TransferLoop(options)
        inbox = loop.inbox
        NativeThread.start(named: options.name) { loop.run() }
    }

    deinit {
        inbox.post(.abandon)
    }

    package func send(_ requests: [TransferRequest]) async -> [TransferOutcome] {
        await inbox.send(requests)
    }

    package func close() async {
        await inbox.close()
    }
}
