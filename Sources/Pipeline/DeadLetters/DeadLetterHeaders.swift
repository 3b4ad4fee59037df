import AMQP
import BellhopRules
import Store

/// The headers of a dead letter, in addition to the original body and properties.
enum DeadLetterHeaders {
    /// The maximum of producer header values in a dead letter.
    ///
    /// Together with Bellhop's and the broker's headers, they stay below the number that is read, so that our headers
    /// are never cut off.
    static let valuesOfProducers = FieldTable.readableValues - 64

    static let deadID = "x-bellhop-dead-id"
    static let contentHash = "x-bellhop-content-hash"
    static let redelivered = "x-bellhop-redelivered"
    static let attempts = "x-bellhop-attempts"
    static let failedAt = "x-bellhop-failed-at"
    static let originExchange = "x-bellhop-origin-exchange"
    static let originRoutingKey = "x-bellhop-origin-routing-key"
    /// The original headers that needed another place: the broker's, and all with our prefix.
    static let originHeaders = "x-bellhop-origin-headers"
    /// The original `expiration`; a dead letter must not expire.
    static let originExpiration = "x-bellhop-origin-expiration"
    /// The original `user_id`; the broker accepts only the publisher's.
    static let originUserID = "x-bellhop-origin-user-id"
    /// Set if only the beginning of the original body is left.
    static let bodyCut = "x-bellhop-body-cut"
    /// The size of the original body in bytes, if it was cut.
    static let bodyBytes = "x-bellhop-body-bytes"
    /// The SHA-256 of the original body, if it was cut.
    static let bodyDigest = "x-bellhop-body-sha256"
    /// Set if the original headers were too large.
    static let headersDropped = "x-bellhop-headers-dropped"

    // The headers of a replayed message, which its next dead letter repeats.
    /// The item that is replayed.
    static let replayOf = "x-bellhop-replay-of"
    /// The replay's number.
    static let replayID = "x-bellhop-replay-id"
    /// The number of this replay of the item.
    static let replayCount = "x-bellhop-replay-count"
    static let replayedBy = "x-bellhop-replay-by"
    /// The operator's reason, if no audit contains it because the message was replayed without the database.
    static let replayedBecause = "x-bellhop-replay-because"
    /// The exchange to which the message was published first.
    static let replayExchange = "x-bellhop-replay-exchange"
    static let replayRoutingKey = "x-bellhop-replay-routing-key"

    /// The time of its first arrival, in microseconds since 1970.
    static let replayArrivedAt = "x-bellhop-replay-arrived-at"

    /// Returns the header for a member of the cause.
    static func name(of member: DeadLetterCause.Member) -> String {
        switch member {
        case .eventType: "x-bellhop-event-type"
        case .eventID: "x-bellhop-event-id"
        default: "x-bellhop-\(member.rawValue)"
        }
    }

    /// Whether a header has our prefix.
    ///
    /// A producer may send such a header, too; it must not count as ours.
    static func isOurs(_ name: String) -> Bool {
        name.lowercased().hasPrefix("x-bellhop-")
    }

    /// Whether the broker interprets or writes a header.
    ///
    /// If such a header is republished, the broker drops the message silently as a dead-letter cycle, or routes it
    /// elsewhere.
    static func belongsToBroker(_ name: String) -> Bool {
        let lowered = name.lowercased()
        return lowered == "cc" || lowered == "bcc" || lowered == "x-delivery-count" || lowered == "x-acquired-count"
            || lowered.hasPrefix("x-death") || lowered.hasPrefix("x-first-death-") || lowered.hasPrefix("x-last-death-")
    }
}

/// A replayed message's data about its replay and its origin.
///
/// Only our publishers may write to the replay queue, so a reader of these headers must verify that the message came
/// from there.
struct ReplayHeaders: Sendable, Equatable {
    let mark: DeadLetterItem.ReplayMark
    let by: String
    /// The operator's reason, if the message was replayed without the database.
    var because: String?
    let exchange: String
    let routingKey: String
    /// The approximate time of its first arrival, which applies to a message without a timestamp.
    ///
    /// A feed message that was a dead letter for three days must not override later updates, and an offer for one hour
    /// has expired.
    let arrivedAt: Timestamp?

    init(_ mark: DeadLetterItem.ReplayMark, by: String, origin: DeadLetterItem.Origin, arrivedAt: Timestamp) {
        self.mark = mark
        self.by = by
        self.arrivedAt = arrivedAt
        exchange = origin.exchange
        routingKey = origin.routingKey
    }

    /// Reads a message of the replay queue or its dead letter; `nil` if there are no marks.
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

    /// The headers from which ``init(marks:)`` restores it.
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

    /// Returns the message as the rules received it at its first arrival.
    func envelope(of message: IncomingMessage, eventsExchange: String) -> InboundEnvelope {
        var envelope = InboundEnvelope(message, eventsExchange: eventsExchange)
        envelope.source = exchange == eventsExchange ? .eventsExchange(routingKey: routingKey) : .elsewhere
        return envelope
    }
}

extension OutgoingMessage {
    /// Creates the replay of a rejected message for the replay queue: the unchanged body with its own properties and
    /// headers.
    ///
    /// The broker's headers are removed: if they were republished, the broker would drop the message or keep it
    /// indefinitely. Expiration and user id are removed, because a republished message must not have them, and
    /// priority, because quorum queues reinterpret it.
    init(replaying origin: DeadLetterItem.Origin, _ replayed: ReplayHeaders, names: TopologyNames) {
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
    /// Reads the body of a dead letter about a delivery; `nil` if it is not from Bellhop.
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
