import AMQP
import BellhopRules

extension InboundEnvelope {
    /// Creates the rules' view of an AMQP message.
    ///
    /// The routing key counts only for messages of the events exchange, where the broker has checked it against the
    /// producer's permissions.
    init(_ message: IncomingMessage, eventsExchange: String) {
        self.init(
            body: message.body,
            source: message.exchange == eventsExchange ? .eventsExchange(routingKey: message.routingKey) : .elsewhere
        )
        publishedBytes = message.cut?.bytes
        contentType = message.contentType
        messageID = message.messageID
        appID = message.appID
        type = message.type
        timestamp = message.publishedAt
        headers = message.headers.entries.map { ($0.name, HeaderValue($0.value)) }
    }
}

extension HeaderValue {
    init(_ value: FieldValue) {
        switch value {
        case .string(let text): self = .string(text)
        case .int8, .uint8, .int16, .uint16, .int32, .uint32, .int64:
            self = value.integer.map { .integer(Int64($0)) } ?? .other
        default: self = .other
        }
    }
}
