package import BellhopRules
import Postgres

/// Items of the same trouble, together.
package struct DeadLetterGroup: Sendable {
    package let fingerprint: String
    package var items: Int
    package var users: Int
    package var firstSeen: Timestamp
    package var lastSeen: Timestamp
    /// That of the latest item.
    package var cause: DeadLetterCause
    /// How many failed in each of the last 24 hours, the oldest hour first.
    package var lastDay: [Int]
}

/// All groups of a filter.
package struct DeadLetterGroups: Sendable {
    package let asOf: Timestamp
    /// The largest first, at most ``most``.
    package let groups: [DeadLetterGroup]
    /// How many there are, shown or not.
    package let count: Int
    package let items: Int

    package static let most = 50
}

extension DeadLetterGroup {
    /// From the columns of the desk's statement.
    init(_ rows: Rows, _ row: Int) throws(PostgresError) {
        fingerprint = try rows.text(row, "fingerprint")
        items = try rows.number(row, "items")
        users = try rows.number(row, "users")
        firstSeen = try rows.moment(row, "first_seen")
        lastSeen = try rows.moment(row, "last_seen")
        cause = try DeadLetterCause(rows, row)
        lastDay = Array(repeating: 0, count: 24)
    }
}
