/// How a `CurlTransport` behaves; everything has a default that suits occasional requests.
package struct CurlTransportOptions: Sendable {
    /// Names the threads (Linux shows the first 15 bytes) and the transport in error texts.
    package var name: String

    /// Requests under way at the same time, each with a connection and a thread of its own; the rest waits in the
    /// transport's own queue, where no timeout runs.
    package var connections = 2

    /// Bytes of an answer's body that are kept; a longer one arrives marked as truncated.
    package var bodyLimit = 64 * 1024

    /// PEM file with the authorities to trust instead of the system's.
    package var authoritiesFile: String?

    /// Whether `http` URLs are sent at all.
    ///
    /// Without it, only `https` leaves the house.
    package var allowsPlainHTTP = false

    /// How long `close` lets requests in flight end before it abandons them.
    package var closeGrace: Duration = .seconds(5)

    package init(name: String) {
        self.name = name
    }
}

extension CurlTransportOptions: LaneOptions {
    /// Refuses what cannot work, so that a wrong setting is found at the start and not by the first push.
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
