package import BellhopRules
import Postgres

/// A notification as stored in the inbox.
package struct StoredNotification: Sendable {
    package let content: NotificationContent
    package let isRead: Bool
    /// Whether a later notification with the same collapse key has replaced it.
    package let isSuperseded: Bool
    package let createdAt: Timestamp
}

extension [NotificationKey: StoredNotification] {
    /// The follows because of which the notifications were sent.
    package var follows: Set<FollowKey> {
        Set<FollowKey>(
            compactMap { key, stored in stored.content.extras.topic.map { FollowKey(key.recipient, $0) } }
        )
    }
}

extension StoredNotification {
    /// Creates a notification from the columns of `InboxStatements.load`; `nil` if no Bellhop process can have written
    /// them.
    init?(_ rows: Rows, _ row: Int) throws(PostgresError) {
        guard let content = try NotificationContent(rows, row) else { return nil }
        self.content = content
        createdAt = try rows.moment(row, 17)
        isRead = try rows.boolean(row, 18)
        isSuperseded = try rows.optionalBoolean(row, 19) ?? false
    }
}
