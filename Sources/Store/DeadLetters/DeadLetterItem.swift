package import BellhopRules
import Postgres

/// A rejected message or delivery, with its cause, as stored in `dead_letters`.
package struct DeadLetterItem: Sendable {
    /// The id in the table; storing it twice has no effect.
    package var deadID: String
    package var cause: DeadLetterCause
    package var attempts = 1
    package var failedAt: Timestamp
    package var origin: Origin
    /// Whether the broker had delivered the message before it was dead-lettered.
    ///
    /// In this case an item with the same content may be this message, stored by a worker that died before the
    /// acknowledgement.
    ///
    /// With ``Identity/content``, whether the dead letter itself had been delivered before, to a filer that may have
    /// stored it.
    package var redelivered = false
    /// The basis of the item's id.
    package var identity = Identity.letter
    /// A hash of the content, by which messages with the same content are recognised.
    package var contentHash: [UInt8]
    /// The delivery that was given up; `nil` for a rejected message.
    package var delivery: DeliveryKey?
    /// The replay that failed; `nil` for a first failure, and for deliveries, whose attempts are counted instead.
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

    /// The rule by which two dead letters are the same item.
    package enum Identity: Sendable {
        /// Each dead letter has a separate id.
        case letter
        /// The message has no id, so all dead letters with the same content that failed in the same way are one item.
        case content
    }

    /// A replayed message's reference to its item, so that its next failure belongs to the same item.
    package struct ReplayMark: Sendable, Equatable {
        /// The id under which the item was first stored.
        package let item: String
        /// The number of the replay; `nil` if an operator took the message from the queue.
        package let replay: Int64?
        /// The number of replays of the item, including this one, from 1.
        package let round: Int

        package init(item: String, replay: Int64?, round: Int) {
            self.item = item
            self.replay = replay
            self.round = round
        }
    }

    /// The original message.
    package struct Origin: Sendable {
        package var exchange: String
        package var routingKey: String
        /// JSON text that preserves every AMQP type.
        package var properties: [UInt8]
        /// JSON text that preserves every AMQP type.
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

extension DeadLetterItem.Origin {
    static let columns = "d.origin_exchange, d.origin_routing_key, d.properties, d.headers, d.body"

    /// Creates an origin from ``columns``.
    init(_ rows: Rows, _ row: Int) throws(PostgresError) {
        self.init(
            exchange: try rows.text(row, "origin_exchange"),
            routingKey: try rows.text(row, "origin_routing_key"),
            properties: try rows.json(row, "properties"),
            headers: try rows.json(row, "headers"),
            body: try rows.bytes(row, "body")
        )
    }
}

/// The size and digest of a rejected message's original body, if only the beginning of the body is stored.
///
/// Such a message can be read, and can never be replayed.
///
/// The data is part of the item's properties, to which no producer can write.
package struct TruncatedBody: Sendable, Equatable {
    /// The size of the original body in bytes.
    package let bytes: Int
    /// The SHA-256 digest of the original body, in hex.
    package let sha256: String

    package init(bytes: Int, sha256: String) {
        self.bytes = bytes
        self.sha256 = sha256
    }

    /// The member of the properties that contains the data.
    package static let member = "bodyCut"

    /// The condition that the body of `dead_letters d` was cut.
    static let condition = "d.properties ? '\(member)'"

    /// Reads the data from an item's properties; `nil` if the body is complete.
    init?(properties: [UInt8]) {
        guard case .success(let json) = JSONParser(limits: .catalog).parse(properties), let cut = json[Self.member]
        else { return nil }
        self.init(
            bytes: Int(clamping: cut["bytes"]?.number?.int64 ?? 0),
            sha256: cut["sha256"]?.string ?? ""
        )
    }
}

extension DeadLetterItem.Origin {
    /// The original body's size and digest, if only its beginning is stored.
    package var cutBody: TruncatedBody? { TruncatedBody(properties: properties) }

    /// Marks the body as complete, after an operator has supplied another.
    package mutating func markWhole() {
        guard case .success(.object(var members)) = JSONParser(limits: .catalog).parse(properties),
            members[TruncatedBody.member] != nil
        else { return }
        members[TruncatedBody.member] = nil
        properties = JSONWriter.canonicalBytes(of: .object(members))
    }
}
