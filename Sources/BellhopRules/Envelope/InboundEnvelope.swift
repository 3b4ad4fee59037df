/// A message from a broker or a file before parsing; independent of the transport.
public struct InboundEnvelope: Sendable {
    /// The origin of the message, which decides whether its routing key can be trusted.
    public enum Source: Hashable, Sendable {
        /// The events exchange.
        ///
        /// The broker has applied its permissions to the routing key, so the key counts as a statement about the
        /// message.
        case eventsExchange(routingKey: String)
        /// Any other origin, such as direct publishing to a lane's queue or a file.
        ///
        /// Only the body and the properties count.
        case elsewhere
    }

    /// The published bytes, or their beginning.
    public var body: [UInt8]
    /// The number of published bytes if `body` does not contain all of them.
    public var publishedBytes: Int?
    /// The maximum number of bytes.
    ///
    /// The limit is higher than a producer's for stored events, because their bodies contain every name.
    public var limit = JSONParser.Limits.event.bytes
    /// The origin of the message.
    public var source: Source
    /// The property `content_type`.
    public var contentType: String?
    /// The property `message_id`.
    public var messageID: String?
    /// The property `app_id`.
    public var appID: String?
    /// The property `type`.
    public var type: String?
    /// The property `timestamp`, in seconds since 1970.
    public var timestamp: UInt64?
    /// The headers in their order.
    public var headers: [(name: String, value: HeaderValue)]

    /// Creates an envelope without properties.
    public init(body: [UInt8], source: Source) {
        self.body = body
        self.source = source
        headers = []
    }
}

/// The value of a header, in the detail that the rules need.
public enum HeaderValue: Hashable, Sendable {
    /// Text.
    case string(String)
    /// A whole number of any width.
    case integer(Int64)
    /// Any other value: a table, an array, a floating-point number, or bytes that are not text.
    case other
}
