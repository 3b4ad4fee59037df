package import BellhopRules
import Postgres

/// A notification as it stands in the app.
package struct StoredNotification: Sendable {
    package let content: NotificationContent
    package let isRead: Bool
    /// A later one with the same collapse key has taken its place.
    package let isSuperseded: Bool
    package let createdAt: Timestamp
}

extension [NotificationKey: StoredNotification] {
    /// The follows that they came of.
    package var follows: Set<FollowKey> {
        Set<FollowKey>(
            compactMap { key, stored in stored.content.extras.topic.map { FollowKey(key.recipient, $0) } }
        )
    }
}

extension StoredNotification {
    /// From the columns of `InboxStatements.load`; nil where they hold what no program of ours wrote.
    init?(_ rows: Rows, _ row: Int) throws(PostgresError) {
        guard let content = try NotificationContent(rows, row) else { return nil }
        self.content = content
        createdAt = try rows.moment(row, 17)
        isRead = try rows.boolean(row, 18)
        isSuperseded = try rows.optionalBoolean(row, 19) ?? false
    }
}
