import Glibc

/// How a `CurlTransport` behaves; everything has a default that suits occasional requests.
package struct CurlTransportOptions: Sendable {
    /// Names the thread (Linux shows the first 15 bytes) and the transport in error texts.
    package var name: String

    /// Connections to one host and port at the same time.
    ///
    /// libcurl fills the first one before it opens the next.
    package var maxConnectionsPerHost = 2

    /// Requests in flight at most, over all hosts; the rest waits in the transport's own queue, where no timeout runs.
    ///
    /// What the connections to a host cannot carry (one request each, where the peer speaks HTTP/1.1) waits inside
    /// libcurl, where its timeouts run.
    package var window = 100

    /// Bytes of an answer's body that are kept; a longer one arrives marked as truncated.
    package var bodyLimit = 64 * 1024

    /// PEM file with the authorities to trust instead of the system's.
    package var authoritiesFile: String?

    package var userAgent = "bellhop"

    /// Whether `http` URLs are sent at all.
    ///
    /// Without it, only `https` leaves the house.
    package var allowsPlainHTTP = false

    /// Which addresses may be connected to.
    ///
    /// A proxy would hide them, so the two exclude each other.
    package var addressPolicy: AddressPolicy = .any

    /// The proxy's URL; nil for none, whatever the environment says.
    package var proxy: String?

    /// How long `close` lets requests in flight end before it abandons them.
    package var closeGrace: Duration = .seconds(5)

    package init(name: String) {
        self.name = name
    }
}

extension CurlTransportOptions {
    /// Refuses what cannot work, so that a wrong setting is found at the start and not by the first push.
    func validate() throws(TransferError) {
        let sizes = [maxConnectionsPerHost, window, bodyLimit]
        guard sizes.allSatisfy({ $0 > 0 && $0 <= Int(Int32.max) }) else {
            throw refusal("connections, window and body limit must be between 1 and \(Int32.max)")
        }
        guard closeGrace >= .zero, closeGrace <= .seconds(3600) else {
            throw refusal("the grace for closing must be between nothing and an hour")
        }
        let texts = [userAgent, proxy, authoritiesFile]
        guard texts.allSatisfy({ $0?.utf8.allSatisfy(ASCII.isHeaderValue) ?? true }) else {
            throw refusal("the user agent, the proxy and the file names must not contain control characters")
        }
        if let authoritiesFile, access(authoritiesFile, R_OK) != 0 {
            throw refusal("the file \(authoritiesFile) cannot be read")
        }
        guard addressPolicy == .any || proxy == nil else {
            throw refusal("a proxy hides the addresses that publicAddressesOnly has to judge: drop one of them")
        }
    }

    func refusal(_ reason: String) -> TransferError {
        TransferError(.invalidOptions, "cannot open the transport \"\(name)\": \(reason)")
    }
}
