package import BellhopRules
import Postgres

/// A notification as shown to its user.
package struct InboxItem: Sendable {
    package let place: InboxPosition
    package let type: EventType
    package let title: String
    package let body: String
    package let priority: Priority
    package let createdAt: Timestamp
    package let isRead: Bool
    package let isSeen: Bool
    package let isArchived: Bool
    /// The end of the snooze; `nil` if the notification is not snoozed.
    package let snoozedUntil: Timestamp?
    package let venueID: String?
    /// The destination of a tap.
    package let link: DeepLink?
    package let data: JSONObject

    package var id: NotificationID { place.id }

    /// The columns that ``init(_:_:)`` reads: a row of the inbox and the time by which it is listed.
    static let columns = """
        listed_at, id, type, title, body, urgency::bigint, created_at, read_at IS NOT NULL, seen_at IS NOT NULL,
        archived_at IS NOT NULL, CASE WHEN snoozed_until > now() THEN snoozed_until END, venue_id, link_web, link_mobile,
        link_scheme, data
        """

    /// Creates an item from a row; `nil` if no Bellhop process can have written the row.
    init?(_ rows: Rows, _ row: Int) throws(PostgresError) {
        guard let type = EventType(validating: try rows.text(row, 2)) else { return nil }
        self.type = type
        place = InboxPosition(
            listedAt: try rows.moment(row, 0),
            id: NotificationID(number: try rows.integer(row, 1))
        )
        title = try rows.text(row, 3)
        body = try rows.text(row, 4)
        priority = Priority(urgency: try rows.integer(row, 5))
        createdAt = try rows.moment(row, 6)
        isRead = try rows.boolean(row, 7)
        isSeen = try rows.boolean(row, 8)
        isArchived = try rows.boolean(row, 9)
        snoozedUntil = try rows.timestamp(row, 10)
        venueID = try rows.optionalText(row, 11)
        link = try DeepLink(rows, row, at: 12)
        data = try rows.optionalObject(row, 15) ?? JSONObject()
    }
}

/// A page of an inbox.
package struct InboxPage: Sendable {
    package let items: [InboxItem]
    /// The unread notifications of high priority, on a first page.
    package let pinned: [InboxItem]
    package let unread: Int
    /// The place at which the next page begins; `nil` at the end.
    package let next: InboxPosition?
}
