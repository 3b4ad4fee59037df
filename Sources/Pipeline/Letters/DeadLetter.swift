import AMQP
import BellhopRules
import Store

/// What goes to the dead-letter queue.
enum Casualty: Sendable {
    /// A message, as it came, that was refused.
    case message(IncomingMessage, Fault)
    /// A delivery that was given up: its event is in the database.
    case delivery(DeliveryOutcome.Loss)

    var fault: Fault {
        switch self {
        case .message(_, let fault): fault
        case .delivery(let loss): loss.fault
        }
    }

    /// Roughly the bytes that some of them take for as long as they wait.
    static func weight(of casualties: [Casualty]) -> Int {
        casualties.reduce(0) { weight, casualty in
            guard case .message(let message, _) = casualty else { return weight + 1024 }
            return weight + 1024 + message.body.count
        }
    }
}

/// A casualty as it travels: the message as it came, with what is needed to understand and repeat it around it.
struct DeadLetter: Sendable {
    private(set) var message: OutgoingMessage

    /// Built once per casualty: publishing the same letter again, after an unknown outcome, files it once.
    init(
        _ casualty: Casualty,
        to exchange: String,
        at failedAt: Timestamp,
        using chance: inout some RandomNumberGenerator
    ) {
        switch casualty {
        case .message(let original, let fault):
            message = Self.letter(
                of: original,
                fault,
                to: exchange,
                failedAt,
                mark: UInt64.random(in: .min ... .max, using: &chance)
            )
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

    private static func letter(
        of original: IncomingMessage,
        _ fault: Fault,
        to exchange: String,
        _ failedAt: Timestamp,
        mark: UInt64
    ) -> OutgoingMessage {
        let hash = DeadLetterContent(original).hash
        // The count may be a producer's own word, up to the largest there is.
        let attempts = Int(clamping: UInt(original.deliveryCount) + 1)
        var headers = headers(fault, attempts: attempts, failedAt)
        headers[DeadLetterHeaders.deadID] = .string("\(hash)-\(String(mark, radix: 16))")
        headers[DeadLetterHeaders.contentHash] = .string(hash)
        headers[DeadLetterHeaders.redelivered] = .boolean(original.redelivered)
        if let cut = original.cut { headers.mark(cut) }
        headers[DeadLetterHeaders.originExchange] = .string(fault.replay?.exchange ?? original.exchange)
        headers[DeadLetterHeaders.originRoutingKey] = .string(fault.replay?.routingKey ?? original.routingKey)
        if let replay = fault.replay { headers.entries += replay.markEntries }
        var displaced = FieldTable()
        let ownMarks = fault.replay == nil ? [] : Replayed.headerNames
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
        of loss: DeliveryOutcome.Loss,
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
        var headers = headers(loss.fault, attempts: loss.attempts, failedAt)
        let id = "\(key.notification.notification.text)-\(key.target)-\(loss.attempts)"
        headers[DeadLetterHeaders.deadID] = .string(id)
        headers[DeadLetterHeaders.contentHash] = .string(id)
        var properties = MessageProperties(contentType: "application/json")
        properties.headers = headers
        return OutgoingMessage(
            exchange: exchange,
            routingKey: DeadLetterHeaders.deliveryKey,
            properties: properties,
            body: JSONWriter.canonicalBytes(of: .object(body))
        )
    }

    private static func headers(_ fault: Fault, attempts: Int, _ failedAt: Timestamp) -> FieldTable {
        var headers = FieldTable()
        headers[DeadLetterHeaders.stage] = .string(fault.stage.rawValue)
        headers[DeadLetterHeaders.reason] = .string(fault.reason)
        headers[DeadLetterHeaders.pointer] = fault.pointer.map(FieldValue.string)
        headers[DeadLetterHeaders.error] = .string(fault.error)
        headers[DeadLetterHeaders.provider] = fault.provider.map(FieldValue.string)
        headers[DeadLetterHeaders.attempts] = .int64(Int64(clamping: attempts))
        headers[DeadLetterHeaders.failedAt] = .int64(failedAt.microseconds)
        headers[DeadLetterHeaders.app] = fault.app.map(FieldValue.string)
        headers[DeadLetterHeaders.eventType] = fault.eventType.map(FieldValue.string)
        headers[DeadLetterHeaders.eventID] = fault.eventID.map(FieldValue.string)
        headers[DeadLetterHeaders.user] = fault.user.map(FieldValue.string)
        return headers
    }
}
