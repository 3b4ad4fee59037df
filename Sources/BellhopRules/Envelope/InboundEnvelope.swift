/// A message as it came from a broker or a file, before anybody has understood it; knows of no transport.
public struct InboundEnvelope: Sendable {
    /// How the message came in, which decides whether its routing key may be believed.
    public enum Source: Hashable, Sendable {
        /// Through the events exchange: broker permissions have been applied to the routing key, so it speaks.
        case eventsExchange(routingKey: String)
        /// Any other way, such as straight on a lane's queue or from a file: the body or the properties say everything.
        case elsewhere
    }

    /// The bytes that were published, or their beginning.
    public var body: [UInt8]
    /// How many bytes were published, where `body` is not all of them.
    public var publishedBytes: Int?
    /// The bytes that it may have: more than a producer's for what we have written down ourselves, with every name in it.
    public var limit = JSONParser.Limits.event.bytes
    /// The way it came.
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
    /// The headers, in their order.
    public var headers: [(name: String, value: HeaderValue)]

    /// An envelope without any properties.
    public init(body: [UInt8], source: Source) {
        self.body = body
        self.source = source
        headers = []
    }
}

/// The value of a header, as far as rules look into it.
public enum HeaderValue: Hashable, Sendable {
    /// Text.
    case string(String)
    /// A whole number of any width.
    case integer(Int64)
    /// Anything else: tables, arrays, floating point, bytes that are no text.
    case other
}
