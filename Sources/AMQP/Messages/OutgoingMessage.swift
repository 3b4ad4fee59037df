/// A message to publish.
package struct OutgoingMessage: Sendable, Equatable {
    /// The exchange.
    ///
    /// The empty name is the default exchange, for which a routing key is the name of a queue.
    package let exchange: String
    package let routingKey: String
    package let properties: MessageProperties
    package let body: [UInt8]

    package init(
        exchange: String,
        routingKey: String,
        properties: MessageProperties = MessageProperties(),
        body: [UInt8]
    ) {
        self.exchange = exchange
        self.routingKey = routingKey
        self.properties = properties
        self.body = body
    }
}

/// The outcome of one published message.
package enum PublishOutcome: Sendable, Equatable {
    /// Every queue to which it was routed has stored it, so that it survives a crash of the broker.
    case confirmed
    /// The broker did not store it: no queue is bound for it, or its exchange does not exist.
    case unroutable(String)
    /// The broker rejected it (nack): a queue is full or could not store it.
    ///
    /// Another queue may have a copy.
    case refused
    /// The broker may or may not have stored it: the connection or channel ended, or time ran out, before the confirm.
    ///
    /// It is not sent again automatically.
    case unknown(String)
    /// The broker certainly does not have it.
    ///
    /// It was not connected or was blocked for too long, or it closed the channel because of this message, for
    /// another reason than 404 and 406. Sending the message again cannot duplicate it.
    case notSent(String)
    /// It can never be sent unchanged: it has a property that the protocol cannot carry or the broker rejects.
    case unwritable(String)
    /// It can never be sent unchanged: its body exceeds Bellhop's or the broker's limit.
    case tooLarge(String)

    /// The reason that operators read while the broker has an alarm and accepts no messages; every place uses this
    /// text.
    package static let alarm = "the broker has an alarm, for memory or disk, and takes no messages"
}
