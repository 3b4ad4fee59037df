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

/// All data of one item.
package struct DeadLetterDetail: Sendable {
    package let summary: DeadLetterSummary
    package let origin: DeadLetterItem.Origin
    package let history: [Entry]
    /// The id of the item's corrected copy.
    package let editedInto: String?
    /// Whether the item is in the table; otherwise it was read from the broker's queue.
    package let isFiled: Bool

    /// An event in the item's history.
    package struct Entry: Sendable {
        package let at: Timestamp
        package let kind: String
        package let `operator`: String?
        package let words: String
    }
}

extension DeadLetterDetail {
    /// Creates the details of a dead letter that is not stored and therefore has no history.
    package init(_ item: DeadLetterItem) {
        summary = DeadLetterSummary(item)
        origin = item.origin
        history = []
        editedInto = nil
        isFiled = false
    }
}

extension DeadLetterDetail.Entry {
    init(_ rows: Rows, _ row: Int) throws(PostgresError) {
        at = try rows.moment(row, 0)
        kind = try rows.text(row, 1)
        self.operator = try rows.optionalText(row, 2)
        words = try rows.text(row, 3)
    }
}

/// An item with its message.
package struct DeadLetterMessage: Sendable {
    package var summary: DeadLetterSummary
    package let origin: DeadLetterItem.Origin
    package let contentHash: [UInt8]

    /// Creates the message of a dead letter that is not stored.
    package init(_ item: DeadLetterItem) {
        summary = DeadLetterSummary(item)
        origin = item.origin
        contentHash = item.contentHash
    }

    /// The item as the filer would read it from the queue.
    var item: DeadLetterItem {
        var item = DeadLetterItem(
            summary.deadID,
            summary.cause,
            failedAt: summary.lastFailedAt,
            origin: origin,
            contentHash: contentHash
        )
        item.attempts = summary.attempts
        item.delivery = summary.delivery
        return item
    }
}

extension DeadLetterMessage {
    /// Creates a message from the columns of its parts.
    init(_ rows: Rows, _ row: Int) throws(PostgresError) {
        summary = try DeadLetterSummary(rows, row)
        origin = try DeadLetterItem.Origin(rows, row)
        contentHash = try rows.bytes(row, "content_hash")
    }
}

/// Selects entries of the audit.
///
/// All conditions must hold.
package struct AuditFilter: Sendable, Equatable {
    /// The operator's name, in any case.
    package var `operator`: String?
    package var act: String?
    /// A text in the reason, the filter or the changes, in any case.
    package var text: String?

    package init() {}
}

/// An entry of the audit.
package struct AuditEntry: Sendable {
    package let at: Timestamp
    package let `operator`: String
    package let act: String
    package let filter: JSONObject
    /// The changed places of an edit with their values, without personal data; empty for any other action.
    package let changes: [String]
    package let items: Int
    package let because: String
    package let replay: Int64?
    /// The database login of the action, which an operator cannot choose; `nil` for entries from before it was stored.
    package let login: String?
    /// The number by which the action can be undone.
    package let number: Int64

    /// The member of the stored filter that has the changes of an edit.
    static let changesKey = "set"

    static let columns = "at, operator, act, filter, items, because, replay_id, login, number"

    init(_ rows: Rows, _ row: Int) throws(PostgresError) {
        at = try rows.moment(row, 0)
        self.operator = try rows.text(row, 1)
        act = try rows.text(row, 2)
        let json = JSONParser(limits: .event).parse(try rows.json(row, 3))
        var filter = (try? json.get())?.object ?? JSONObject()
        changes = filter[Self.changesKey]?.array?.compactMap(\.string) ?? []
        filter[Self.changesKey] = nil
        self.filter = filter
        items = try rows.number(row, 4)
        because = try rows.text(row, 5)
        replay = try rows.optionalInteger(row, 6)
        login = try rows.optionalText(row, 7)
        number = try rows.integer(row, 8)
    }
}
