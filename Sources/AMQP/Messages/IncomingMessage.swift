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
        let cut: BodyCut?
        let cost: Int

        init(_ message: ReceivedMessage, cost: Int) {
            exchange = message.exchange
            routingKey = message.routingKey
            properties = message.properties
            body = message.body
            cut = message.cut
            self.cost = cost
        }
    }

    init(_ delivery: Delivery, queue: String, epoch: UInt64) {
        self.queue = queue
        tag = DeliveryTag(epoch: epoch, number: delivery.number)
        redelivered = delivery.redelivered
        content = Content(delivery.message, cost: delivery.cost)
    }

    private init(handingOutAgain message: IncomingMessage) {
        queue = message.queue
        tag = message.tag
        redelivered = true
        content = message.content
    }

    /// The same message, as if the broker had delivered it once more: a part of it may have been processed.
    package var deliveredAgain: IncomingMessage { IncomingMessage(handingOutAgain: self) }

    private init(_ message: IncomingMessage, saying other: ReceivedMessage) {
        queue = message.queue
        tag = message.tag
        redelivered = message.redelivered
        content = Content(other, cost: other.body.count)
    }

    /// What part of this message would be, had it come alone: of the same delivery, with another body.
    package func part(_ body: [UInt8], by exchange: String, _ routingKey: String) -> IncomingMessage {
        let properties = MessageProperties(contentType: "application/json")
        let other = ReceivedMessage(exchange: exchange, routingKey: routingKey, properties: properties, body: body)
        return IncomingMessage(self, saying: other)
    }

    package var exchange: String { content.exchange }
    package var routingKey: String { content.routingKey }
    package var properties: MessageProperties { content.properties }
    /// When it was published, in seconds since 1970, as far as its publisher says.
    package var publishedAt: UInt64? { content.properties.timestamp }
    /// Only its beginning where it was `cut`.
    package var body: [UInt8] { content.body }
    /// What the body was before it was cut; nil for one that is whole.
    package var cut: BodyCut? { content.cut }

    /// The bytes of its header and body, for what counts towards a limit of memory.
    package var cost: Int { content.cost }

    /// How often it was returned to its queue, by the broker's own count.
    ///
    /// The header alone says nothing, since a producer can write it too; where a quorum queue says that a message is
    /// redelivered, it has put its own count in the place of whatever was there.
    package var deliveryCount: Int { redelivered ? claimedDeliveryCount : 0 }

    /// What `x-delivery-count` says, whoever wrote it; 0 where that is nothing sensible.
    private var claimedDeliveryCount: Int {
        max(0, properties.headers["x-delivery-count"]?.integer ?? 0)
    }
}
