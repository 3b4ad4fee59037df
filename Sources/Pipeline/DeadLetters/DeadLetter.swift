import AMQP
import BellhopRules

/// A message as it goes to the dead-letter queue: as it came, with what is needed to understand and repeat it around it.
struct DeadLetter: Sendable {
    private(set) var message: OutgoingMessage

    /// Built once per casualty: publishing the same letter again, after an unknown outcome, files it once.
    init(
        _ casualty: Casualty, to exchange: String, at failedAt: Timestamp,
        using chance: inout some RandomNumberGenerator
    ) {
        let original = casualty.message
        var headers = Self.headers(casualty, failedAt, mark: UInt64.random(in: .min ... .max, using: &chance))
        var displaced = FieldTable()
        for entry in original.properties.headers.entries {
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
        message = OutgoingMessage(
            exchange: exchange, routingKey: original.queue, properties: properties, body: original.body
        )
    }

    /// Leaves out first the original headers, which may not fit into a frame together with ours, then the original
    /// properties: the body and the reason must arrive whatever else the broker does not take.
    mutating func slim() {
        let isSlim = message.properties.headers[DeadLetterHeaders.headersDropped] != nil
        var properties = isSlim ? MessageProperties() : message.properties
        properties.headers = message.properties.headers.removing { name in
            !DeadLetterHeaders.isOurs(name) || name == DeadLetterHeaders.originHeaders
        }
        properties.headers[DeadLetterHeaders.headersDropped] = .boolean(true)
        message = OutgoingMessage(
            exchange: message.exchange, routingKey: message.routingKey, properties: properties, body: message.body
        )
    }

    private static func headers(_ casualty: Casualty, _ failedAt: Timestamp, mark: UInt64) -> FieldTable {
        let message = casualty.message
        let fault = casualty.fault
        let hash = DeadLetterContent(message).hash
        var headers = FieldTable()
        headers[DeadLetterHeaders.deadID] = .string("\(hash)-\(String(mark, radix: 16))")
        headers[DeadLetterHeaders.contentHash] = .string(hash)
        headers[DeadLetterHeaders.redelivered] = .boolean(message.redelivered)
        headers[DeadLetterHeaders.stage] = .string(fault.stage.rawValue)
        headers[DeadLetterHeaders.reason] = .string(fault.reason)
        headers[DeadLetterHeaders.pointer] = fault.pointer.map(FieldValue.string)
        headers[DeadLetterHeaders.error] = .string(fault.error)
        headers[DeadLetterHeaders.attempts] = .int64(Int64(clamping: message.deliveryCount) + 1)
        headers[DeadLetterHeaders.failedAt] = .int64(failedAt.microseconds)
        headers[DeadLetterHeaders.app] = fault.app.map(FieldValue.string)
        headers[DeadLetterHeaders.eventType] = fault.eventType.map(FieldValue.string)
        headers[DeadLetterHeaders.eventID] = fault.eventID.map(FieldValue.string)
        headers[DeadLetterHeaders.user] = fault.user.map(FieldValue.string)
        headers[DeadLetterHeaders.originExchange] = .string(message.exchange)
        headers[DeadLetterHeaders.originRoutingKey] = .string(message.routingKey)
        return headers
    }
}
