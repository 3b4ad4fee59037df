import AMQP
import BellhopRules
import Store

/// A delivery that was given up.
///
/// It is an object because it is rare: every disposition has a place for it.
final class AbandonedDelivery: Sendable {
    let cause: DeadLetterCause
    let key: DeliveryKey
    let attempts: Int

    init(cause: DeadLetterCause, key: DeliveryKey, attempts: Int) {
        self.cause = cause
        self.key = key
        self.attempts = attempts
    }
}

/// A message or delivery for the dead-letter queue.
enum DeadLetterSource: Sendable {
    /// A rejected message, unchanged.
    ///
    /// `replay` is the replay of the message; `nil` for a message that was not replayed.
    case message(IncomingMessage, DeadLetterCause, replay: ReplayHeaders? = nil)
    /// A delivery that was given up; its event is in the database.
    case delivery(AbandonedDelivery)

    var cause: DeadLetterCause {
        switch self {
        case .message(_, let cause, _): cause
        case .delivery(let loss): loss.cause
        }
    }

    /// Returns the approximate memory of undeliverables, in bytes.
    static func weight(of undeliverables: [DeadLetterSource]) -> Int {
        undeliverables.reduce(0) { weight, undeliverable in
            guard case .message(let message, _, _) = undeliverable else { return weight + 1024 }
            return weight + 1024 + message.body.count
        }
    }
}

/// The form in which an undeliverable is published: the unchanged message, with headers for its explanation and replay.
struct DeadLetter: Sendable {
    private(set) var message: OutgoingMessage

    /// Creates a dead letter, once per undeliverable.
    ///
    /// If the same one is published again after an unknown outcome, it is stored once.
    init(
        _ undeliverable: DeadLetterSource,
        to exchange: String,
        at failedAt: Timestamp,
        using chance: inout some RandomNumberGenerator
    ) {
        switch undeliverable {
        case .message(let original, let cause, let replay):
            let mark = UInt64.random(in: .min ... .max, using: &chance)
            message = Self.letter(of: original, to: exchange, Self.headers(of: original, cause, failedAt, mark), replay)
        case .delivery(let loss): message = Self.letter(of: loss, to: exchange, failedAt)
        }
    }

    /// Cuts the body of a message that is too large to publish.
    ///
    /// A header states the cut, with the original size and digest.
    ///
    /// If the broker rejects even the beginning, each further call halves it.
    mutating func cut() {
        let whole = message.body
        let kept = whole.count > BodyLimits.kept ? BodyLimits.kept : whole.count / 2
        var properties = message.properties
        if properties.headers[DeadLetterHeaders.bodyCut] == nil { properties.headers.mark(BodyTruncation(of: whole)) }
        message = OutgoingMessage(
            exchange: message.exchange,
            routingKey: message.routingKey,
            properties: properties,
            body: Array(whole.prefix(kept))
        )
    }

    /// Removes the original headers first, because they may not fit into a frame together with the added ones, and then
    /// the original properties.
    ///
    /// The reason must arrive, whatever else the broker rejects.
    mutating func slim() {
        let isSlim = message.properties.headers[DeadLetterHeaders.headersDropped] != nil
        var properties = isSlim ? MessageProperties() : message.properties
        properties.headers = message.properties.headers.removing { name in
            !DeadLetterHeaders.isOurs(name) || name == DeadLetterHeaders.originHeaders
        }
        properties.headers[DeadLetterHeaders.headersDropped] = .boolean(true)
        message = OutgoingMessage(
            exchange: message.exchange,
            routingKey: message.routingKey,
            properties: properties,
            body: message.body
        )
    }

    /// Returns our headers for a message, whatever headers it had.
    private static func headers(
        of original: IncomingMessage,
        _ cause: DeadLetterCause,
        _ failedAt: Timestamp,
        _ mark: UInt64
    ) -> FieldTable {
        let hash = DeadLetterContent(original).hash
        // The count may be a producer's header, up to the largest number.
        let attempts = Int(clamping: UInt(original.deliveryCount) + 1)
        var headers = headers(cause, attempts: attempts, failedAt)
        headers[DeadLetterHeaders.deadID] = .string("\(hash)-\(String(mark, radix: 16))")
        headers[DeadLetterHeaders.contentHash] = .string(hash)
        headers[DeadLetterHeaders.redelivered] = .boolean(original.redelivered)
        if let cut = original.cut { headers.mark(cut) }
        return headers
    }

    private static func letter(
        of original: IncomingMessage,
        to exchange: String,
        _ ours: FieldTable,
        _ replay: ReplayHeaders?
    ) -> OutgoingMessage {
        var headers = ours
        headers[DeadLetterHeaders.originExchange] = .string(replay?.exchange ?? original.exchange)
        headers[DeadLetterHeaders.originRoutingKey] = .string(replay?.routingKey ?? original.routingKey)
        if let replay { headers.entries += replay.markEntries }
        var displaced = FieldTable()
        let ownMarks = replay == nil ? [] : ReplayHeaders.headerNames
        let all = original.properties.headers.removing(where: ownMarks.contains)
        let kept = all.prefix(ofValues: DeadLetterHeaders.valuesOfProducers)
        if kept.entries.count < all.entries.count { headers[DeadLetterHeaders.headersDropped] = .boolean(true) }
        for entry in kept.entries {
            if DeadLetterHeaders.isOurs(entry.name) || DeadLetterHeaders.belongsToBroker(entry.name) {
                displaced.entries.append(entry)
            } else {
                headers.entries.append(entry)
            }
        }
        if !displaced.isEmpty { headers[DeadLetterHeaders.originHeaders] = .table(displaced) }
        var properties = original.properties
        headers[DeadLetterHeaders.originExpiration] = properties.expiration.map(FieldValue.string)
        headers[DeadLetterHeaders.originUserID] = properties.userID.map(FieldValue.string)
        properties.expiration = nil
        properties.userID = nil
        properties.headers = headers
        properties.deliveryMode = .persistent
        return OutgoingMessage(
            exchange: exchange,
            routingKey: original.queue,
            properties: properties,
            body: original.body
        )
    }

    /// Creates the dead letter of a delivery.
    ///
    /// Its id is derived from the delivery and the attempt, so that a repeated failure creates the same one.
    private static func letter(
        of loss: AbandonedDelivery,
        to exchange: String,
        _ failedAt: Timestamp
    ) -> OutgoingMessage {
        let key = loss.key
        let body = JSONObject([
            ("app", .string(key.notification.recipient.app.text)),
            ("userId", .string(key.notification.recipient.user.text)),
            ("notificationId", .string(key.notification.notification.text)),
            ("channel", .string(key.channel.rawValue)), ("target", .string(key.target)),
        ])
        var headers = headers(loss.cause, attempts: loss.attempts, failedAt)
        let id = "\(key.notification.notification.text)-\(key.target)-\(loss.attempts)"
        headers[DeadLetterHeaders.deadID] = .string(id)
        headers[DeadLetterHeaders.contentHash] = .string(id)
        var properties = MessageProperties(contentType: "application/json")
        properties.headers = headers
        return OutgoingMessage(
            exchange: exchange,
            routingKey: TopologyNames.delivery,
            properties: properties,
            body: JSONWriter.canonicalBytes(of: .object(body))
        )
    }

    private static func headers(_ cause: DeadLetterCause, attempts: Int, _ failedAt: Timestamp) -> FieldTable {
        var headers = FieldTable()
        for member in DeadLetterCause.Member.allCases {
            headers[DeadLetterHeaders.name(of: member)] = cause[member].map(FieldValue.string)
        }
        headers[DeadLetterHeaders.attempts] = .int64(Int64(clamping: attempts))
        headers[DeadLetterHeaders.failedAt] = .int64(failedAt.microseconds)
        return headers
    }
}
