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
    package init(app: AppID, event: EventID, user: UserID) {
        self.init(bits: SHA256.digest(of: Self.hashInput(app: app, event: event, user: user)).leadingBits)
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

extension Rows {
    /// Reads a key from the columns app, user_id and notification number; `nil` if no Bellhop process can have written
    /// them.
    func notificationKey(_ row: Int) throws(PostgresError) -> NotificationKey? {
        guard let recipient = try recipientKey(row) else { return nil }
        return NotificationKey(recipient: recipient, notification: NotificationID(number: try integer(row, 2)))
    }
}
