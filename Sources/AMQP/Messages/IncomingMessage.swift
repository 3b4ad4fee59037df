import Synchronization

/// A message as received from a queue, to be settled by its tag.
///
/// Copies share one immutable object, so that passing a batch costs one reference count per message.
package struct IncomingMessage: Sendable {
    /// The queue from which it was taken.
    package let queue: String
    package let tag: DeliveryTag
    /// Whether the broker has delivered it before, so that it may have been processed already.
    package let redelivered: Bool
    private let content: AssembledMessage

    init(_ delivery: Delivery, queue: String, epoch: UInt64) {
        self.queue = queue
        tag = DeliveryTag(epoch: epoch, number: delivery.number)
        redelivered = delivery.redelivered
        content = delivery.message
    }

    private init(handingOutAgain message: IncomingMessage) {
        queue = message.queue
        tag = message.tag
        redelivered = true
        content = message.content
    }

    /// The same message, marked as redelivered, because a part of it may have been processed.
    package var deliveredAgain: IncomingMessage { IncomingMessage(handingOutAgain: self) }

    private init(_ message: IncomingMessage, saying other: AssembledMessage) {
        queue = message.queue
        tag = message.tag
        redelivered = message.redelivered
        content = other
    }

    /// Returns a part of this message as a separate message: the same delivery with another body.
    package func part(_ body: [UInt8], by exchange: String, _ routingKey: String) -> IncomingMessage {
        let properties = MessageProperties(contentType: "application/json")
        let other = AssembledMessage(exchange: exchange, routingKey: routingKey, properties: properties, body: body)
        return IncomingMessage(self, saying: other)
    }

    package var exchange: String { content.exchange }
    package var routingKey: String { content.routingKey }
    package var properties: MessageProperties { content.properties }
    // Single properties, because a copy of all counts references to a dozen texts.
    package var contentType: String? { content.properties.contentType }
    package var messageID: String? { content.properties.messageID }
    package var appID: String? { content.properties.appID }
    package var type: String? { content.properties.type }
    package var headers: FieldTable { content.properties.headers }
    /// The time of publication in seconds since 1970, if the publisher set it.
    package var publishedAt: UInt64? { content.properties.timestamp }
    /// The body, or only its beginning if it was `cut`.
    package var body: [UInt8] { content.body }
    /// The size and digest of the body before it was cut; `nil` for a complete body.
    package var cut: BodyTruncation? { content.cut }

    /// The bytes of its header and body, which count towards memory limits.
    package var cost: Int { content.cost }

    /// The number of times that it was returned to its queue, as counted by the broker.
    ///
    /// The header alone is not reliable, since a producer can write it too. If a quorum queue marks a message as
    /// redelivered, it has replaced any such header with its count.
    package var deliveryCount: Int { redelivered ? claimedDeliveryCount : 0 }

    /// The value of `x-delivery-count`, from the broker or a producer; 0 if it is missing, negative or not an integer.
    private var claimedDeliveryCount: Int { max(0, headers["x-delivery-count"]?.integer ?? 0) }
}

/// Identifies one delivery, for its settlement.
///
/// It contains the channel's epoch, because numbers start again at 1 on every channel. Without it, a tag of a lost
/// connection would settle another message. Such a tag is ignored silently, and the broker redelivers the message.
package struct DeliveryTag: Sendable, Hashable {
    /// A number that is unique in the process, so that another consumer's tags are rejected too.
    let epoch: UInt64
    let number: UInt64

    private static let latestEpoch = Atomic<UInt64>(0)

    /// Whether both deliveries came on the same channel.
    ///
    /// Messages that were delivered before a connection was lost are delivered again afterwards.
    package func isOfSameConnection(as other: DeliveryTag) -> Bool { epoch == other.epoch }

    /// Whether this delivery's connection was lost before the other one's was opened.
    package func isOfEarlierConnection(than other: DeliveryTag) -> Bool { epoch < other.epoch }

    static func nextEpoch() -> UInt64 { latestEpoch.add(1, ordering: .relaxed).newValue }
}
