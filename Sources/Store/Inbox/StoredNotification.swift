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
            compactMap { key, stored in stored.content.topic.map { FollowKey(key.recipient, $0) } }
        )
    }
}

extension StoredNotification {
    /// Creates a notification from the columns of ``load``; `nil` if no Bellhop process can have written
    /// them.
    init?(_ rows: Rows, _ row: Int) throws(PostgresError) {
        guard let content = try NotificationContent(rows, row) else { return nil }
        self.content = content
        createdAt = try rows.moment(row, 17)
        isRead = try rows.boolean(row, 18)
        isSuperseded = try rows.optionalBoolean(row, 19) ?? false
    }

    /// A notification is superseded if a later one with the same collapse key has replaced it.
    ///
    /// Of the collapse keys up to the notification's own, its own is the last. The newest notification with that key is
    /// therefore the first row of a backward scan of `inbox_collapsed`. No other index has this order, so that the
    /// user's other rows are never read.
    static let load = Statement(
        """
        SELECT r.position, r.person, n.event_id, n.type, n.title, n.body, n.urgency::bigint, n.venue_id, n.link_web,
               n.link_mobile, n.link_scheme, n.data, n.target_id, n.metadata, n.said_at, n.extras, n.collapse_key,
               n.created_at, n.read_at IS NOT NULL,
               coalesce((
                   SELECT (l.created_at, l.id) > (n.created_at, n.id) FROM inbox l
                   WHERE l.person = n.person AND l.collapse_key <= n.collapse_key AND l.collapse_key IS NOT NULL
                   ORDER BY l.collapse_key DESC, l.created_at DESC, l.id DESC LIMIT 1), false)
        FROM \(NotificationKey.named) AS r
        CROSS JOIN LATERAL \(NotificationKey.row("*", of: "r")) AS n
        WHERE n.id = r.id
        """,
        effect: .reads
    )
}

extension StoredNotification {
    /// The condition for an unread notification: in the list and not read.
    static let isUnread = """
        read_at IS NULL AND archived_at IS NULL AND (snoozed_until IS NULL OR snoozed_until <= now())
        """

    /// Selects a user's rows that are neither read nor archived, at most 10,000, by an index that contains no others.
    ///
    /// Only this index provides this order. Without it the server may choose the list's index, if the tables were small
    /// at the last analysis, and read all of the user's rows.
    static func unreadRows(of person: String) -> String {
        """
        (SELECT read_at, archived_at, snoozed_until, type, unsent FROM inbox
         WHERE person = \(person) AND read_at IS NULL AND archived_at IS NULL
         ORDER BY urgency LIMIT 10000)
        """
    }
}

extension NotificationContent {
    /// Creates content from the columns of `StoredNotification.load`; `nil` if no Bellhop process can have written them.
    convenience init?(_ rows: Rows, _ row: Int) throws(PostgresError) {
        guard let event = EventID(validating: try rows.text(row, 2)),
            let type = EventType(validating: try rows.text(row, 3))
        else { return nil }
        let extras = try NotificationExtras(rows, row, 15)
        var texts = NotificationTexts.Builder()
        texts.set(.event, event.text)
        texts.set(.title, try rows.text(row, 4))
        texts.set(.body, try rows.text(row, 5))
        texts.set(.venueID, try rows.optionalText(row, 7))
        texts.set(try DeepLink(rows, row, at: 8))
        texts.set(.data, try rows.canonicalObject(row, 11))
        texts.set(.targetID, try rows.optionalText(row, 12))
        texts.set(.metadata, try rows.canonicalObject(row, 13))
        texts.set(.collapseKey, try rows.optionalText(row, 16))
        texts.set(.imageURL, extras.imageURL)
        self.init(
            type,
            Priority(urgency: try rows.integer(row, 6)),
            texts.finished(),
            expiresAt: extras.expiresAt,
            sentAt: try rows.timestamp(row, 14),
            wideAudience: extras.wideAudience,
            isNeverMailed: extras.isNeverMailed,
            trace: extras.trace
        )
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
