/// A request that has been received completely.
struct HTTP2Request: Sendable {
    /// The connection's number in its server, starting at 1.
    let connection: UInt64
    /// The fields, including pseudo-headers such as `:path`; empty if the handler does not read content.
    let headers: HeaderBlock
    /// Empty if the handler does not read content.
    let body: [UInt8]

    var method: String { headers[":method"] ?? "" }
    var path: String { headers[":path"] ?? "" }
}
