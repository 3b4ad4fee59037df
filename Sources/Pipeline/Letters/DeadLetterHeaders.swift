import AMQP
import Store

/// The headers that a dead letter carries beside its original body and properties.
enum DeadLetterHeaders {
    /// How many header values of a producer travel along: with ours and the broker's they stay below what is read, so that
    /// nothing of ours is ever out of sight behind theirs.
    static let valuesOfProducers = FieldTable.readableValues - 64

    static let deadID = "x-bellhop-dead-id"
    static let contentHash = "x-bellhop-content-hash"
    static let redelivered = "x-bellhop-redelivered"
    static let attempts = "x-bellhop-attempts"
    static let failedAt = "x-bellhop-failed-at"
    static let originExchange = "x-bellhop-origin-exchange"
    static let originRoutingKey = "x-bellhop-origin-routing-key"
    /// The original headers that could not stay where they were: the broker's own, and any that bore our prefix.
    static let originHeaders = "x-bellhop-origin-headers"
    /// The original `expiration`: a dead letter must not expire.
    static let originExpiration = "x-bellhop-origin-expiration"
    /// The original `user_id`: the broker accepts none but the publisher's own.
    static let originUserID = "x-bellhop-origin-user-id"
    /// Set where only the beginning of the original body is left.
    static let bodyCut = "x-bellhop-body-cut"
    /// How many bytes the original body had, where it was cut.
    static let bodyBytes = "x-bellhop-body-bytes"
    /// The SHA-256 of the original body, where it was cut.
    static let bodyDigest = "x-bellhop-body-sha256"
    /// Set where the original headers were too large to travel along.
    static let headersDropped = "x-bellhop-headers-dropped"

    // What a replayed message carries, and what its next letter says again.
    /// The item that is replayed.
    static let replayOf = "x-bellhop-replay-of"
    /// The replay's number.
    static let replayID = "x-bellhop-replay-id"
    /// Which replay of the item it is.
    static let replayCount = "x-bellhop-replay-count"
    static let replayedBy = "x-bellhop-replay-by"
    /// Why, where no audit keeps it: of what was moved past the database.
    static let replayedBecause = "x-bellhop-replay-because"
    /// Where the message was published when it first came.
    static let replayExchange = "x-bellhop-replay-exchange"
    static let replayRoutingKey = "x-bellhop-replay-routing-key"

    /// When it first came, in microseconds since 1970.
    static let replayArrivedAt = "x-bellhop-replay-arrived-at"

    /// Under which a letter says this of its cause.
    static func name(of member: DeadLetterCause.Member) -> String {
        switch member {
        case .eventType: "x-bellhop-event-type"
        case .eventID: "x-bellhop-event-id"
        default: "x-bellhop-\(member.rawValue)"
        }
    }

    /// A producer may send such a header too; it must not pass for ours.
    static func isOurs(_ name: String) -> Bool {
        name.lowercased().hasPrefix("x-bellhop-")
    }

    /// Headers that the broker interprets or writes.
    ///
    /// Republished, they make it drop the message in silence as a
    /// dead-letter cycle, or route it elsewhere.
    static func belongsToBroker(_ name: String) -> Bool {
        let lowered = name.lowercased()
        return lowered == "cc" || lowered == "bcc" || lowered == "x-delivery-count" || lowered == "x-acquired-count"
            || lowered.hasPrefix("x-death") || lowered.hasPrefix("x-first-death-") || lowered.hasPrefix("x-last-death-")
    }
}
