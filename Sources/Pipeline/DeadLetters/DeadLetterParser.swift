import AMQP
import BellhopRules
import Cryptography
import Foundation
import Store

/// Converts messages of the dead-letter queue to items: our dead letters, the broker's, and any other messages.
struct DeadLetterParser {
    private let message: IncomingMessage
    private let headers: FieldTable
    private let now: Timestamp
    private let names: TopologyNames

    static func item(of message: IncomingMessage, at now: Timestamp, names: TopologyNames) -> DeadLetterItem {
        let reading = DeadLetterParser(
            message: message,
            headers: message.properties.headers,
            now: now,
            names: names
        )
        if let death = reading.death { return reading.brokersItem(death) }
        guard reading.isOurs, let id = reading.headers[DeadLetterHeaders.deadID]?.text else {
            return reading.foundItem()
        }
        return reading.ownItem(id)
    }

    /// Whether our headers can be trusted.
    ///
    /// The broker writes `x-death` to messages that it dead-letters, whose other headers are a producer's; we remove it
    /// from our dead letters. The broker also keeps the routing key of such a message, and our dead letters have
    /// special keys. If the header parser stopped before the end, any header may be missing.
    private var isOurs: Bool {
        message.exchange == names.dead && names.isKeyOfOurLetters(message.routingKey)
            && headers["x-death"] == nil && !headers.isCut
    }

    private func ownItem(_ id: String) -> DeadLetterItem {
        var properties = message.properties
        properties.expiration = text(DeadLetterHeaders.originExpiration)
        properties.userID = text(DeadLetterHeaders.originUserID)
        var original = headers.removing(where: DeadLetterHeaders.isOurs)
        if case .table(let displaced) = headers[DeadLetterHeaders.originHeaders] {
            original.entries += displaced.entries
        }
        let failedAt = headers[DeadLetterHeaders.failedAt]?.integer.map { Timestamp(clamping: Int64($0)) } ?? now
        let hash = text(DeadLetterHeaders.contentHash) ?? DeadLetterContent(message).hash
        var item = DeadLetterItem(
            id.storable,
            DeadLetterCause { text(DeadLetterHeaders.name(of: $0)) },
            failedAt: failedAt,
            origin: DeadLetterItem.Origin(
                exchange: text(DeadLetterHeaders.originExchange) ?? "",
                routingKey: text(DeadLetterHeaders.originRoutingKey) ?? "",
                properties: AMQPJSON.object(properties, cutBody: headers.cutBody),
                headers: AMQPJSON.object(original),
                body: message.body
            ),
            contentHash: Array(hash.utf8)
        )
        item.attempts = headers[DeadLetterHeaders.attempts]?.integer.map { Int(Int32(clamping: $0)) } ?? 1
        item.redelivered = headers[DeadLetterHeaders.redelivered] == .boolean(true)
        item.replay = ReplayHeaders(marks: headers)?.mark
        // A message has an origin; a delivery has none.
        if headers[DeadLetterHeaders.originExchange] == nil { item.delivery = DeliveryKey(letter: message.body) }
        return item
    }

    private func text(_ name: String) -> String? { headers[name]?.text?.storable }

    // MARK: - The broker's dead letters

    private struct Death {
        let queue: String
        let reason: String
        let at: Timestamp?
    }

    /// The newest entry of `x-death`, which is the first one.
    ///
    /// Only its queue and its reason are from the broker. Up to RabbitMQ 3.13, if a producer has sent an entry with the
    /// same queue and reason, the broker only increments its count. A future time is ignored.
    private var death: Death? {
        guard case .array(let deaths) = headers["x-death"], case .table(let death) = deaths.first else { return nil }
        var at: Timestamp?
        if case .timestamp(let seconds) = death["time"] { at = Timestamp(seconds: seconds) }
        return Death(
            queue: death["queue"]?.text ?? "",
            reason: (death["reason"]?.text ?? "unexplained").replacingOccurrences(of: "_", with: "-").storable,
            at: at.flatMap { $0 <= now ? $0 : nil }
        )
    }

    /// Creates the item of a message that the broker dead-lettered.
    ///
    /// Its origin is its routing key, which the dead-letter exchange preserves and the broker has checked against the
    /// producer's permissions.
    ///
    /// The message counts as one of the events exchange, unless its last queue is closed to producers. A message that
    /// was put directly on a lane therefore counts as a message with the lane's name.
    private func brokersItem(_ death: Death) -> DeadLetterItem {
        let hash = DeadLetterContent(message, diedIn: death.queue, of: death.reason).hash
        let isInternal = names.isInternal(queue: death.queue)
        var item = brokerSide(
            id: "broker-\(hash)",
            hash: hash,
            DeadLetterCause(
                .broker,
                reason: death.reason,
                error: "the broker took the message from \(death.queue): \(death.reason)".storable
            ),
            at: death.at ?? now,
            exchange: isInternal ? names.work : names.events
        )
        if !isInternal {
            // The key determines the app, whatever the properties contain.
            let words = message.routingKey.split(separator: ".", maxSplits: 1)
            item.cause.app = words.first.map { String($0).storable }
            if words.count > 1 { item.cause.eventType = String(words[1]).storable }
        }
        // Only our publishers write to that queue, so the marks there are not a producer's.
        guard death.queue == names.replay, let replayed = ReplayHeaders(marks: headers) else { return item }
        item.replay = replayed.mark
        item.origin.exchange = replayed.exchange.storable
        item.origin.routingKey = replayed.routingKey.storable
        return item
    }

    /// Creates the item of any other message, which is kept, too.
    private func foundItem() -> DeadLetterItem {
        let hash = DeadLetterContent(message, diedIn: "", of: "").hash
        return brokerSide(
            id: "found-\(hash)",
            hash: hash,
            DeadLetterCause(
                .broker,
                reason: "unexplained",
                error: "the message was put into the dead-letter queue without a reason"
            ),
            at: now,
            exchange: message.exchange
        )
    }

    private func brokerSide(
        id: String,
        hash: String,
        _ why: DeadLetterCause,
        at failedAt: Timestamp,
        exchange: String
    ) -> DeadLetterItem {
        var cause = why
        let read = ParsedIdentity(InboundEnvelope(message, eventsExchange: names.events))
        // The queue's name is not an app's name.
        let key = message.routingKey == names.dead ? nil : message.routingKey.split(separator: ".").first
        cause.app = read.app?.text ?? key.map { String($0).storable }
        cause.eventType = read.eventType?.text ?? message.properties.type?.storable
        cause.eventID = read.eventID?.text ?? message.properties.messageID?.storable
        var item = DeadLetterItem(
            id,
            cause,
            failedAt: failedAt,
            origin: DeadLetterItem.Origin(
                exchange: exchange.storable,
                routingKey: message.routingKey.storable,
                properties: AMQPJSON.object(message.properties, cutBody: message.cut.map(TruncatedBody.init)),
                headers: AMQPJSON.object(headers),
                body: message.body
            ),
            contentHash: Array(hash.utf8)
        )
        item.redelivered = message.redelivered
        item.identity = .content
        return item
    }
}

extension String {
    /// The text without NUL, which PostgreSQL's text cannot contain.
    fileprivate var storable: String {
        contains("\0") ? replacingOccurrences(of: "\0", with: "\u{FFFD}") : self
    }
}
