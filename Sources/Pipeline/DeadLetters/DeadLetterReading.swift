import AMQP
import BellhopRules
import Cryptography
import Foundation
import Store

/// Reads what lies in the dead-letter queue back into an item: our own letters, the broker's, and whatever else
/// somebody put there.
struct DeadLetterReading {
    private let message: IncomingMessage
    private let headers: FieldTable
    private let now: Timestamp
    /// The queue whose messages carry marks of ours.
    private let replayQueue: String

    static func item(of message: IncomingMessage, at now: Timestamp, replayQueue: String) -> DeadLetterItem {
        let reading = DeadLetterReading(
            message: message,
            headers: message.properties.headers,
            now: now,
            replayQueue: replayQueue
        )
        // The broker writes x-death on what it dead-letters itself; we take it off what we do. So a producer who adds
        // headers with our prefix cannot have its message filed under another's id.
        if let death = reading.death { return reading.brokersItem(death) }
        guard let id = reading.headers[DeadLetterHeaders.deadID]?.text else { return reading.foundItem() }
        return reading.ownItem(id)
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
            deadID: id.storable,
            stage: text(DeadLetterHeaders.stage) ?? "unknown",
            reason: text(DeadLetterHeaders.reason) ?? "unexplained",
            pointer: text(DeadLetterHeaders.pointer),
            error: text(DeadLetterHeaders.error) ?? "",
            provider: text(DeadLetterHeaders.provider),
            app: text(DeadLetterHeaders.app),
            eventType: text(DeadLetterHeaders.eventType),
            eventID: text(DeadLetterHeaders.eventID),
            user: text(DeadLetterHeaders.user),
            attempts: headers[DeadLetterHeaders.attempts]?.integer.map { Int(Int32(clamping: $0)) } ?? 1,
            failedAt: failedAt,
            origin: DeadLetterItem.Origin(
                exchange: text(DeadLetterHeaders.originExchange) ?? "",
                routingKey: text(DeadLetterHeaders.originRoutingKey) ?? "",
                properties: AMQPJSON.object(properties, cutBody: headers.cutBody),
                headers: AMQPJSON.object(original),
                body: message.body
            ),
            redelivered: headers[DeadLetterHeaders.redelivered] == .boolean(true),
            contentHash: Array(hash.utf8)
        )
        item.replay = Replayed(marks: headers)?.mark
        // A message says where it came from; a delivery came from nowhere.
        if headers[DeadLetterHeaders.originExchange] == nil { item.delivery = DeliveryKey(letter: message.body) }
        return item
    }

    private func text(_ name: String) -> String? { headers[name]?.text?.storable }

    // MARK: - The broker's

    private struct Death {
        let queue: String
        let reason: String
        let exchange: String
        let routingKey: String
        let count: Int
        let at: Timestamp?
    }

    /// The newest entry of `x-death`, which is the first.
    private var death: Death? {
        guard case .array(let deaths) = headers["x-death"], case .table(let death) = deaths.first else { return nil }
        var keys: [FieldValue] = []
        if case .array(let found) = death["routing-keys"] { keys = found }
        var at: Timestamp?
        if case .timestamp(let seconds) = death["time"] { at = Timestamp(seconds: seconds) }
        return Death(
            queue: death["queue"]?.text ?? "",
            reason: death["reason"]?.text ?? "unexplained",
            exchange: death["exchange"]?.text ?? "",
            routingKey: keys.first?.text ?? "",
            count: death["count"]?.integer ?? 1,
            at: at
        )
    }

    private func brokersItem(_ death: Death) -> DeadLetterItem {
        let hash = DeadLetterContent(death: message).hash
        let reason = death.reason.replacingOccurrences(of: "_", with: "-").storable
        var item = brokerSide(
            id: "broker-\(hash)",
            hash: hash,
            reason: reason,
            error: "the broker took the message from \(death.queue): \(reason)".storable,
            attempts: max(death.count, message.claimedDeliveryCount),
            at: death.at ?? now,
            exchange: death.exchange,
            routingKey: death.routingKey
        )
        // Only our own publishers reach that queue, so there the marks are no producer's.
        guard death.queue == replayQueue, let replayed = Replayed(marks: headers) else { return item }
        item.replay = replayed.mark
        item.origin.exchange = replayed.exchange.storable
        item.origin.routingKey = replayed.routingKey.storable
        return item
    }

    /// Neither ours nor the broker's: kept all the same.
    private func foundItem() -> DeadLetterItem {
        let hash = DeadLetterContent(death: message).hash
        return brokerSide(
            id: "found-\(hash)",
            hash: hash,
            reason: "unexplained",
            error: "the message was put into the dead-letter queue without a reason",
            attempts: 1,
            at: now,
            exchange: message.exchange,
            routingKey: message.routingKey
        )
    }

    private func brokerSide(
        id: String,
        hash: String,
        reason: String,
        error: String,
        attempts: Int,
        at failedAt: Timestamp,
        exchange: String,
        routingKey: String
    ) -> DeadLetterItem {
        DeadLetterItem(
            deadID: id,
            stage: "broker",
            reason: reason,
            error: error,
            app: message.properties.appID?.storable
                ?? routingKey.split(separator: ".").first.map { String($0).storable },
            eventType: message.properties.type?.storable,
            eventID: message.properties.messageID?.storable,
            attempts: Int(Int32(clamping: attempts)),
            failedAt: failedAt,
            origin: DeadLetterItem.Origin(
                exchange: exchange.storable,
                routingKey: routingKey.storable,
                properties: AMQPJSON.object(message.properties, cutBody: message.cut.map(CutBody.init)),
                headers: AMQPJSON.object(headers),
                body: message.body
            ),
            redelivered: false,
            contentHash: Array(hash.utf8)
        )
    }
}

extension String {
    /// PostgreSQL's text cannot hold NUL.
    fileprivate var storable: String {
        contains("\0") ? replacingOccurrences(of: "\0", with: "\u{FFFD}") : self
    }
}
