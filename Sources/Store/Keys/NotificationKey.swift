package import BellhopRules
import Cryptography
import Postgres

/// One notification of one user.
package struct NotificationKey: Hashable, Sendable {
    package var recipient: RecipientKey
    package let notification: NotificationID

    package init(recipient: RecipientKey, notification: NotificationID) {
        self.recipient = recipient
        self.notification = notification
    }

    /// From texts; nil where one is missing or is none of ours.
    package init?(_ app: String?, _ user: String?, _ notification: String?) {
        guard let recipient = RecipientKey(app, user),
            let id = notification.flatMap(NotificationID.init(validating:))
        else { return nil }
        self.init(recipient: recipient, notification: id)
    }
}

extension NotificationID {
    /// The id that any re-run computes again, from the app, the event and the user.
    package init(app: AppID, event: EventID, user: UserID) {
        self.init(bits: SHA256.digest(of: Self.hashInput(app: app, event: event, user: user)).leadingBits)
    }

    /// As the tables keep it: the same eight bytes.
    var number: Int64 { Int64(bitPattern: bits) }

    init(number: Int64) {
        self.init(bits: UInt64(bitPattern: number))
    }
}

extension NotificationKey {
    /// App, user and number; the statement looks the user up.
    static func parameters(_ keys: [NotificationKey]) -> [Parameter] {
        RecipientKey.parameters(keys.map(\.recipient)) + [.integerArray(keys.map(\.notification.number))]
    }
}

extension Rows {
    /// From the columns app, user_id and the notification's number; nil where they hold what no program of ours wrote.
    func notificationKey(_ row: Int) throws(PostgresError) -> NotificationKey? {
        guard let recipient = try recipientKey(row) else { return nil }
        return NotificationKey(recipient: recipient, notification: NotificationID(number: try integer(row, 2)))
    }
}
