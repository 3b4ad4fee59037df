/// A message as it came from a queue, to be settled by its tag.
///
/// Copies share one immutable object, so that passing a batch along costs one reference count a message.
package struct IncomingMessage: Sendable {
    /// The queue it was taken from.
    package let queue: String
    package let tag: DeliveryTag
    /// Whether it has been handed out before; it may then have been processed already.
    package let redelivered: Bool
    private let content: Content

    private final class Content: Sendable {
        let exchange: String
        let routingKey: String
        let properties: MessageProperties
        let body: [UInt8]
        let cost: Int

        init(_ message: ReceivedMessage, cost: Int) {
            exchange = message.exchange
            routingKey = message.routingKey
            properties = message.properties
            body = message.body
            self.cost = cost
        }
    }

    init(_ delivery: Delivery, queue: String, epoch: UInt64) {
        self.queue = queue
        tag = DeliveryTag(epoch: epoch, number: delivery.number)
        redelivered = delivery.redelivered
        content = Content(delivery.message, cost: delivery.cost)
    }

    package var exchange: String { content.exchange }
    package var routingKey: String { content.routingKey }
    package var properties: MessageProperties { content.properties }
    package var body: [UInt8] { content.body }

    /// The bytes of its header and body, for what counts towards a limit of memory.
    var cost: Int { content.cost }

    /// How often it was returned to its queue, as far as the broker counts (`x-delivery-count`); 0 where it says
    /// nothing sensible, since producers can write that header too.
    package var deliveryCount: Int {
        max(0, properties.headers["x-delivery-count"]?.integer ?? 0)
    }
}
