/// A transport over libcurl, for requests that are few: HTTP/2 where the peer speaks it, HTTP/1.1 where it does not,
/// plain HTTP where asked for.
///
/// Credentials that must not share a connection (two teams of one provider) need a transport each. Releasing the last
/// reference ends the connections too, without waiting for it.
package final class CurlTransport: HTTPTransport {
    private let desk: LaneDesk<RequestLane>

    /// Opens the transport; nothing is connected yet.
    package init(_ options: CurlTransportOptions) throws(TransferError) {
        try options.validate()
        desk = try LaneDesk(options)
    }

    deinit {
        desk.abandon()
    }

    package func send(_ requests: [TransferRequest]) async -> [TransferOutcome] {
        await desk.send(requests)
    }

    package func close() async {
        await desk.close()
    }
}
