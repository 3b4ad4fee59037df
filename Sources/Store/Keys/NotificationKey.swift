package import BellhopRules
import Cryptography
import Postgres

/// The key of one user's notification.
package struct NotificationKey: Hashable, Sendable {
    package var recipient: UserKey
    package let notification: NotificationID

    package init(recipient: UserKey, notification: NotificationID) {
        self.recipient = recipient
        self.notification = notification
    }

    /// Creates a key from texts; `nil` if one is missing or invalid.
    package init?(_ app: String?, _ user: String?, _ notification: String?) {
        guard let recipient = UserKey(app, user),
            let id = notification.flatMap(NotificationID.init(validating:))
        else { return nil }
        self.init(recipient: recipient, notification: id)
    }
}

extension NotificationID {
    /// Computes the id from app, event and user, so that every repetition gives the same id.
    ///
    /// The bytes are those of `hashInput`, without an array for them.
    package init(app: AppID, event: EventID, user: UserID) {
        self.init(bits: SHA256.digest(joining: app.text, event.text, user.text).leadingBits)
    }

    /// Computes the id from app and user, and the event of a notification's content.
    init(app: AppID, eventOf content: NotificationContent, user: UserID) {
        let digest = content.texts.with(.event) { event in
            SHA256.digest(joining: app.text, event ?? UnsafeBufferPointer(start: nil, count: 0), user.text)
        }
        self.init(bits: digest.leadingBits)
    }

    /// The id as stored in the tables: the same eight bytes.
    package var number: Int64 { Int64(bitPattern: bits) }

    init(number: Int64) {
        self.init(bits: UInt64(bitPattern: number))
    }
}

extension NotificationKey {
    /// Returns app, user and number as parameters; the statement looks up the user.
    static func parameters(_ keys: [NotificationKey]) -> [Parameter] {
        UserKey.parameters(keys.map(\.recipient)) + [.integerArray(keys.map(\.notification.number))]
    }
}

extension NotificationKey {
    /// Notifications from ``parameters(_:)``, with their positions and their users' numbers.
    ///
    /// They are computed before any join, since a scan by an id alone would read every row with that id.
    static let named = """
        (SELECT w.position, p.number AS person, w.id
         FROM (
             SELECT generate_subscripts($1::text[], 1)::bigint AS position, unnest($1::text[]) AS app,
                    unnest($2::text[]) AS user_id, unnest($3::bigint[]) AS id
         ) AS w
         CROSS JOIN LATERAL \(UserKey.number(of: "w")) AS p
         OFFSET 0)
        """

    /// Selects the notification that `key` names by `person` and `id`, or the next one.
    ///
    /// The outer query must therefore compare the id.
    ///
    /// The list's index begins with the same column as the primary key. If the server considers the table small, both
    /// have the same cost for one id, and a scan of the list's index would read all of the user's rows. Only the
    /// primary key provides the order of the ids.
    static func row(_ columns: String, of key: String) -> String {
        """
        (SELECT \(columns) FROM inbox
         WHERE person = \(key).person AND id >= \(key).id
         ORDER BY id LIMIT 1)
        """
    }
}

extension Rows {
    /// Reads a key from the columns app, user_id and notification number; `nil` if no Bellhop process can have written
    /// them.
    func notificationKey(_ row: Int) throws(PostgresError) -> NotificationKey? {
        guard let recipient = try recipientKey(row) else { return nil }
        return NotificationKey(recipient: recipient, notification: NotificationID(number: try integer(row, 2)))
    }
}
