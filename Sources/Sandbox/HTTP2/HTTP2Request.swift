/// A request that has arrived whole.
struct HTTP2Request: Sendable {
    /// Counts the connections of a server from 1.
    let connection: UInt64
    /// Pseudo-headers such as `:path` are among them; empty where the handler does not read content.
    let headers: HeaderBlock
    /// Empty where the handler does not read content.
    let body: [UInt8]

    var method: String { headers[":method"] ?? "" }
    var path: String { headers[":path"] ?? "" }
}
