package import BellhopRules
import Postgres

/// An item in a list.
package struct DeadLetterSummary: Sendable {
    package let deadID: String
    package var state: DeadLetterState
    package let fingerprint: String
    package let cause: DeadLetterCause
    package let attempts: Int
    package let copies: Int
    package var deaths: Int
    package var replays: Int
    package let replay: Int64?
    package var resolution: String?
    package let editedFrom: String?
    package var firstFailedAt: Timestamp
    package let lastFailedAt: Timestamp
    package let filedAt: Timestamp
    /// The delivery that was given up; `nil` for a rejected message.
    package let delivery: DeliveryKey?
}

extension DeadLetterSummary {
    /// Creates the summary of a dead letter that is not stored, as it would be stored first.
    package init(_ item: DeadLetterItem) {
        deadID = item.replay?.item ?? item.deadID
        state = .open
        fingerprint = item.fingerprint
        cause = item.cause
        attempts = item.attempts
        copies = 1
        replays = item.replay?.round ?? 0
        deaths = replays + 1
        replay = nil
        editedFrom = nil
        firstFailedAt = item.failedAt
        lastFailedAt = item.failedAt
        filedAt = item.failedAt
        delivery = item.delivery
    }
}

/// Items of a list, with the total count.
package struct DeadLetterPage: Sendable {
    package let asOf: Timestamp
    package let items: [DeadLetterSummary]
    package let count: Int
}

/// The number of matching items at a given time, which an operator confirms for an action.
package struct DeadLetterCount: Sendable, Equatable {
    package let items: Int
    package let users: Int
    package let asOf: Timestamp
}

extension DeadLetterSummary {
    /// The columns of `dead_letters d` in a list.
    static let columns = """
        d.dead_id, d.state, d.fingerprint, \(DeadLetterCause.columns("d.")),
        d.attempts::bigint AS attempts, d.copies::bigint AS copies, d.deaths::bigint AS deaths,
        d.replays::bigint AS replays, d.replay_id, d.resolution, d.edited_from, d.first_failed_at, d.last_failed_at,
        d.filed_at, d.notification_id, d.channel, d.target
        """

    /// Creates a summary from ``columns``.
    init(_ rows: Rows, _ row: Int) throws(PostgresError) {
        deadID = try rows.text(row, "dead_id")
        state = DeadLetterState(rawValue: try rows.text(row, "state")) ?? .open
        fingerprint = try rows.text(row, "fingerprint")
        cause = try DeadLetterCause(rows, row)
        attempts = try rows.number(row, "attempts")
        copies = try rows.number(row, "copies")
        deaths = try rows.number(row, "deaths")
        replays = try rows.number(row, "replays")
        replay = try rows.optionalInteger(row, "replay_id")
        resolution = try rows.optionalText(row, "resolution")
        editedFrom = try rows.optionalText(row, "edited_from")
        firstFailedAt = try rows.moment(row, "first_failed_at")
        lastFailedAt = try rows.moment(row, "last_failed_at")
        filedAt = try rows.moment(row, "filed_at")
        delivery = DeliveryKey(
            cause.app,
            cause.user,
            try rows.optionalText(row, "notification_id"),
            try rows.optionalText(row, "channel"),
            try rows.optionalText(row, "target")
        )
    }
}
