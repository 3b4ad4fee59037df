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
