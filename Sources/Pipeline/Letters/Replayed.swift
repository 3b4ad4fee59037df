import AMQP
import BellhopRules
import Store

/// What a replayed message says of its replay, and of where it came from at first.
///
/// Only our own publishers may write to the replay queue, so whoever reads these headers has to know that the message came
/// from there.
struct Replayed: Sendable, Equatable {
    let mark: DeadLetterItem.ReplayMark
    let by: String
    /// Why, of what was moved past the database.
    var because: String?
    let exchange: String
    let routingKey: String
    /// About when it first came: for a message that says no time of its own, that is its time.
    ///
    /// A feed that waited at the desk for three days must not win over what was said since, and an offer for an hour is
    /// over by then.
    let arrivedAt: Timestamp?

    init(_ mark: DeadLetterItem.ReplayMark, by: String, origin: DeadLetterItem.Origin, arrivedAt: Timestamp) {
        self.mark = mark
        self.by = by
        self.arrivedAt = arrivedAt
        exchange = origin.exchange
        routingKey = origin.routingKey
    }

    /// From a message of the replay queue, or from a dead letter of one; nil where there are no marks.
    init?(marks headers: FieldTable) {
        guard let item = headers[DeadLetterHeaders.replayOf]?.text,
            let round = headers[DeadLetterHeaders.replayCount]?.integer, round > 0
        else { return nil }
        mark = DeadLetterItem.ReplayMark(
            item: item,
            replay: headers[DeadLetterHeaders.replayID]?.integer.map { Int64($0) },
            round: Int(Int32(clamping: round))
        )
        by = headers[DeadLetterHeaders.replayedBy]?.text ?? ""
        because = headers[DeadLetterHeaders.replayedBecause]?.text
        arrivedAt = headers[DeadLetterHeaders.replayArrivedAt]?.integer.map { Timestamp(clamping: Int64($0)) }
        exchange = headers[DeadLetterHeaders.replayExchange]?.text ?? ""
        routingKey = headers[DeadLetterHeaders.replayRoutingKey]?.text ?? ""
    }

    /// The headers by which ``init(marks:)`` knows it again.
    var markEntries: [FieldTable.Entry] {
        var entries = [
            FieldTable.Entry(DeadLetterHeaders.replayOf, .string(mark.item)),
            FieldTable.Entry(DeadLetterHeaders.replayCount, .int64(Int64(mark.round))),
            FieldTable.Entry(DeadLetterHeaders.replayedBy, .string(by)),
            FieldTable.Entry(DeadLetterHeaders.replayExchange, .string(exchange)),
            FieldTable.Entry(DeadLetterHeaders.replayRoutingKey, .string(routingKey)),
        ]
        if let because { entries.append(.init(DeadLetterHeaders.replayedBecause, .string(because))) }
        if let arrivedAt { entries.append(.init(DeadLetterHeaders.replayArrivedAt, .int64(arrivedAt.microseconds))) }
        if let replay = mark.replay { entries.append(.init(DeadLetterHeaders.replayID, .int64(replay))) }
        return entries
    }

    static let headerNames: Set<String> = [
        DeadLetterHeaders.replayOf, DeadLetterHeaders.replayCount, DeadLetterHeaders.replayedBy,
        DeadLetterHeaders.replayExchange, DeadLetterHeaders.replayRoutingKey, DeadLetterHeaders.replayID,
        DeadLetterHeaders.replayArrivedAt, DeadLetterHeaders.replayedBecause,
    ]

    /// The message as the rules saw it when it first came.
    func envelope(of message: IncomingMessage, eventsExchange: String) -> InboundEnvelope {
        var envelope = InboundEnvelope(message, eventsExchange: eventsExchange)
        envelope.source = exchange == eventsExchange ? .eventsExchange(routingKey: routingKey) : .elsewhere
        return envelope
    }
}

extension OutgoingMessage {
    /// A rejected message once more: the body byte for byte, under its own properties and headers, on the replay queue.
    ///
    /// The broker's own headers stay behind: republished, they would make it drop the message, or keep it for ever. So do
    /// expiration and user id, which a republished message must not have, and priority, which quorum queues reinterpret.
    init(replaying origin: DeadLetterItem.Origin, _ replayed: Replayed, names: TopologyNames) {
        var properties = AMQPJSON.properties(origin.properties) ?? MessageProperties()
        properties.expiration = nil
        properties.userID = nil
        properties.priority = nil
        properties.deliveryMode = .persistent
        let headers = (AMQPJSON.table(origin.headers) ?? FieldTable()).removing { name in
            DeadLetterHeaders.isOurs(name) || DeadLetterHeaders.belongsToBroker(name)
        }
        properties.headers = headers.prefix(ofValues: DeadLetterHeaders.valuesOfProducers)
        properties.headers.entries += replayed.markEntries
        self.init(exchange: names.work, routingKey: names.replay, properties: properties, body: origin.body)
    }
}

extension DeliveryKey {
    /// From the body of a letter about a delivery; nil where it is not one of ours.
    init?(letter body: [UInt8]) {
        guard case .success(.object(let object)) = JSONParser(limits: .event).parse(body) else { return nil }
        self.init(
            object["app"]?.string,
            object["userId"]?.string,
            object["notificationId"]?.string,
            object["channel"]?.string,
            object["target"]?.string
        )
    }
}
