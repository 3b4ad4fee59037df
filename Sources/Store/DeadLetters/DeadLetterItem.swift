package import BellhopRules

/// One entry of the on-call engineer's desk: a message that was rejected, with all that is known of why.
package struct DeadLetterItem: Sendable {
    /// Under which it is filed; filing it twice changes nothing.
    package var deadID: String
    package var cause: DeadLetterCause
    package var attempts = 1
    package var failedAt: Timestamp
    package var origin: Origin
    /// Whether the broker had handed the message out before it was dead-lettered: then an item with the same content may
    /// be this very message, filed by a worker that died before it could acknowledge.
    ///
    /// With ``Identity/content`` it is the
    /// letter itself that had been handed out before, to a clerk that may have filed it.
    package var redelivered = false
    /// What its id was made of.
    package var identity = Identity.letter
    /// What tells two messages of the same content from one.
    package var contentHash: [UInt8]
    /// The line of the ledger that was given up; nil for a message that was rejected.
    package var delivery: DeliveryKey?
    /// The replay that it did not survive; nil for what died for the first time, and for deliveries, whose attempts tell.
    package var replay: ReplayMark?

    package init(
        _ deadID: String,
        _ cause: DeadLetterCause,
        failedAt: Timestamp,
        origin: Origin,
        contentHash: [UInt8]
    ) {
        self.deadID = deadID
        self.cause = cause
        self.failedAt = failedAt
        self.origin = origin
        self.contentHash = contentHash
    }

    /// What makes two letters the same item.
    package enum Identity: Sendable {
        /// Each letter has an id of its own.
        case letter
        /// Nobody has given the message an id, so all of the same content, which died in the same way, are one item.
        case content
    }

    /// What a replayed message carries, so that its next death is known for one of the same item.
    package struct ReplayMark: Sendable, Equatable {
        /// The item under which it was filed first.
        package let item: String
        /// The replay; nil where it was taken from the queue by hand.
        package let replay: Int64?
        /// Which replay of the item it is, from 1.
        package let round: Int

        package init(item: String, replay: Int64?, round: Int) {
            self.item = item
            self.replay = replay
            self.round = round
        }
    }

    /// The message as it came in.
    package struct Origin: Sendable {
        package var exchange: String
        package var routingKey: String
        /// JSON text that keeps every AMQP type apart.
        package var properties: [UInt8]
        /// JSON text that keeps every AMQP type apart.
        package var headers: [UInt8]
        package var body: [UInt8]

        package init(exchange: String, routingKey: String, properties: [UInt8], headers: [UInt8], body: [UInt8]) {
            self.exchange = exchange
            self.routingKey = routingKey
            self.properties = properties
            self.headers = headers
            self.body = body
        }
    }
}
