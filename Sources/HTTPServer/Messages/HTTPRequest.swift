/// A request that has arrived whole.
package struct HTTPRequest: Sendable {
    /// In capitals as it was sent: `GET`.
    package let method: String
    package let target: RequestTarget
    package let headers: HTTPHeaders
    /// At most `HTTPLimits.bodyBytes` of it.
    package let body: [UInt8]
    /// Who is at the other end of the connection; nil where that cannot be told.
    package let peer: PeerAddress?
    /// Whether the server's admission has accepted it by its head, before the body was received.
    package internal(set) var isAdmitted = false
    /// What stood in the route's `{places}`, decoded; the router fills it in.
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

    /// The first value of a query's name; an empty text for a name without a value.
    package func query(_ name: String) -> String? {
        target.query.first { $0.name == name }?.value
    }
}
