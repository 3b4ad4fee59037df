package import BellhopRules
import Postgres

/// A notification as it stands in the app.
package struct StoredNotification: Sendable {
    package let content: NotificationContent
    package let isRead: Bool
    /// A later one with the same collapse key has taken its place.
    package let isSuperseded: Bool
    package let createdAt: Timestamp

    /// From the columns of `InboxStatements.load`; nil where they hold what no program of ours wrote.
    init?(_ rows: Rows, _ row: Int) throws(PostgresError) {
        guard let event = EventID(validating: try rows.text(row, 3)),
            let type = EventType(validating: try rows.text(row, 4)),
            let priority = Priority(rawValue: try rows.text(row, 7))
        else { return nil }
        let words = (title: try rows.text(row, 5), body: try rows.text(row, 6))
        var content = NotificationContent(event: event, type: type, words: words, priority: priority)
        content.venueID = try rows.optionalText(row, 8)
        content.link = try rows.optionalJSON(row, 9).flatMap(Self.object)
        content.data = try rows.optionalJSON(row, 10).flatMap(Self.object) ?? JSONObject()
        content.extras = NotificationExtras(json: try rows.optionalJSON(row, 11))
        self.content = content
        isRead = try rows.boolean(row, 12)
        isSuperseded = try rows.optionalBoolean(row, 13) ?? false
        createdAt = Timestamp(clamping: try rows.instant(row, 14))
    }

    private static func object(_ json: [UInt8]) -> JSONObject? {
        guard case .success(.object(let object)) = JSONParser(limits: .event).parse(json) else { return nil }
        return object
    }
}
