package import BellhopRules
import Postgres

/// What a notification says, whether it is about to be written or comes back from the database.
///
/// An object, since every stage of a batch hands it on.
package final class NotificationContent: Sendable {
    package let event: EventID
    package let type: EventType
    package let title: String
    package let body: String
    package let priority: Priority
    package let venueID: String?
    /// Where a tap leads.
    package let link: DeepLink?
    package let data: JSONObject
    package let extras: NotificationExtras
    /// About how many bytes its data take in memory, for as long as it is in hand.
    package let footprint: Int

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

    /// From the columns of `InboxStatements.load`; nil where they hold what no program of ours wrote.
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
    /// From the three columns of a link, the first of which stands at `column`; nil where there is none.
    init?(_ rows: Rows, _ row: Int, at column: Int) throws(PostgresError) {
        guard let web = try rows.optionalText(row, .index(column)),
            let mobile = try rows.optionalText(row, .index(column + 1))
        else { return nil }
        self.init(web: web, mobile: mobile, scheme: try rows.optionalText(row, .index(column + 2)))
    }
}
