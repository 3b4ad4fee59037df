import AMQP
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
