import AMQP
import BellhopRules
import Store

/// A delivery that was given up.
struct LostDelivery: Sendable {
    let cause: DeadLetterCause
    let key: DeliveryKey
    let attempts: Int
}

/// What goes to the dead-letter queue.
enum Undeliverable: Sendable {
    /// A message, as it came, that was refused.
    ///
    /// `replay` is the one that the message came through; nil for one that comes for the first time.
    case message(IncomingMessage, DeadLetterCause, replay: Replayed? = nil)
    /// A delivery that was given up: its event is in the database.
    case delivery(LostDelivery)

    var cause: DeadLetterCause {
        switch self {
        case .message(_, let cause, _): cause
        case .delivery(let loss): loss.cause
        }
    }

    /// Roughly the bytes that some of them take for as long as they wait.
    static func weight(of undeliverables: [Undeliverable]) -> Int {
        undeliverables.reduce(0) { weight, undeliverable in
            guard case .message(let message, _, _) = undeliverable else { return weight + 1024 }
            return weight + 1024 + message.body.count
        }
    }
}

/// A undeliverable as it travels: the message as it came, with what is needed to understand and repeat it around it.
struct DeadLetter: Sendable {
    private(set) var message: OutgoingMessage

    /// Built once per undeliverable: publishing the same letter again, after an unknown outcome, files it once.
    init(
        _ undeliverable: Undeliverable,
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

    /// Cuts the body, which can never arrive as it is; what is left says so, with its size and its digest.
    ///
    /// A broker that does not take even the beginning gets half of that, and so on.
    mutating func cut() {
        let whole = message.body
        let kept = whole.count > BodyLimits.kept ? BodyLimits.kept : whole.count / 2
        var properties = message.properties
        if properties.headers[DeadLetterHeaders.bodyCut] == nil { properties.headers.mark(BodyCut(of: whole)) }
        message = OutgoingMessage(
            exchange: message.exchange,
            routingKey: message.routingKey,
            properties: properties,
            body: Array(whole.prefix(kept))
        )
    }

    /// Leaves out first the original headers, which may not fit into a frame together with ours, then the original
    /// properties: the reason must arrive whatever else the broker does not take.
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

    /// What we say of a message, whatever it brought along itself.
    private static func headers(
        of original: IncomingMessage,
        _ cause: DeadLetterCause,
        _ failedAt: Timestamp,
        _ mark: UInt64
    ) -> FieldTable {
        let hash = DeadLetterContent(original).hash
        // The count may be a producer's own word, up to the largest there is.
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
        _ replay: Replayed?
    ) -> OutgoingMessage {
        var headers = ours
        headers[DeadLetterHeaders.originExchange] = .string(replay?.exchange ?? original.exchange)
        headers[DeadLetterHeaders.originRoutingKey] = .string(replay?.routingKey ?? original.routingKey)
        if let replay { headers.entries += replay.markEntries }
        var displaced = FieldTable()
        let ownMarks = replay == nil ? [] : Replayed.headerNames
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

    /// Its id follows from the delivery and the attempt: whoever gives it up again writes the same letter.
    private static func letter(
        of loss: LostDelivery,
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
