package import BellhopRules
import Postgres

/// Items with the same fingerprint.
package struct DeadLetterGroup: Sendable {
    package let fingerprint: String
    package var items: Int
    package var users: Int
    package var firstSeen: Timestamp
    package var lastSeen: Timestamp
    /// The cause of the latest item.
    package var cause: DeadLetterCause
    /// The number of failures in each of the last 24 hours, the oldest hour first.
    package var lastDay: [Int]
}

/// The groups that match a filter.
package struct DeadLetterGroups: Sendable {
    package let asOf: Timestamp
    /// The largest first, at most ``most``.
    package let groups: [DeadLetterGroup]
    /// The number of groups, whether or not they are shown.
    package let count: Int
    package let items: Int

    package static let most = 50
}

extension DeadLetterGroup {
    /// Creates a group from the columns of the query for groups.
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
