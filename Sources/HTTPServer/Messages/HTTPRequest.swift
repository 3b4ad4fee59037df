/// A request that has been received completely.
package struct HTTPRequest: Sendable {
    /// The method in upper case, as it was sent: `GET`.
    package let method: String
    package let target: RequestTarget
    package let headers: HTTPHeaders
    /// At most `HTTPLimits.bodyBytes` bytes.
    package let body: [UInt8]
    /// The address of the connection's other end; `nil` if it cannot be determined.
    package let peer: PeerAddress?
    /// Whether the server's admission has accepted the request by its head, before the body was received.
    package internal(set) var isAdmitted = false
    /// The decoded values of the route's `{places}`, set by the router.
    package internal(set) var parameters: [String: String] = [:]

    package init(
        method: String,
        target: RequestTarget,
        headers: HTTPHeaders = [:],
        body: [UInt8] = [],
        peer: PeerAddress? = nil
    ) {
        self.method = method
        self.target = target
        self.headers = headers
        self.body = body
        self.peer = peer
    }

    /// Returns the first value of a query parameter; an empty text for a name without a value.
    package func query(_ name: String) -> String? {
        target.query.first { $0.name == name }?.value
    }
}
