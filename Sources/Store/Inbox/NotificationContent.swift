package import BellhopRules
import Postgres

/// The content of a notification that is about to be written or was read from the database.
///
/// It is a class, since every stage of a batch passes it on.
package final class NotificationContent: Sendable {
    package let event: EventID
    package let type: EventType
    package let title: String
    package let body: String
    package let priority: Priority
    package let venueID: String?
    /// The destination of a tap.
    package let link: DeepLink?
    package let data: JSONObject
    package let extras: NotificationExtras
    /// The approximate size of its data in memory, in bytes.
    package let footprint: Int

    /// Creates the content of an event.
    ///
    /// Nothing of it is pushed from `expiresAt` on.
    package init(event: Event, rendered: RenderedContent, priority: Priority, expiresAt: Timestamp?) {
        self.event = event.id
        type = event.type
        title = rendered.title
        body = rendered.body
        self.priority = priority
        venueID = event.content.venueID
        link = rendered.link
        data = event.content.data
        extras = NotificationExtras(event, expiresAt: expiresAt)
        footprint = data.footprint + extras.metadata.footprint
    }

    /// Creates content from the columns of `StoredNotification.load`; `nil` if no Bellhop process can have written them.
    init?(_ rows: Rows, _ row: Int) throws(PostgresError) {
        guard let event = EventID(validating: try rows.text(row, 2)),
            let type = EventType(validating: try rows.text(row, 3))
        else { return nil }
        self.event = event
        self.type = type
        title = try rows.text(row, 4)
        body = try rows.text(row, 5)
        priority = Priority(urgency: try rows.integer(row, 6))
        venueID = try rows.optionalText(row, 7)
        link = try DeepLink(rows, row, at: 8)
        data = try rows.optionalObject(row, 11) ?? JSONObject()
        extras = try NotificationExtras(rows, row, at: 12)
        footprint = data.footprint + extras.metadata.footprint
    }
}

extension DeepLink {
    /// Creates a link from three columns, beginning at `column`; `nil` if there is no link.
    init?(_ rows: Rows, _ row: Int, at column: Int) throws(PostgresError) {
        guard let web = try rows.optionalText(row, .index(column)),
            let mobile = try rows.optionalText(row, .index(column + 1))
        else { return nil }
        self.init(web: web, mobile: mobile, scheme: try rows.optionalText(row, .index(column + 2)))
    }
}
