package import BellhopRules
import Cryptography
import Postgres

/// One notification of one user.
package struct NotificationKey: Hashable, Sendable {
    package let recipient: RecipientKey
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
}

extension NotificationKey {
    static func parameters(_ keys: [NotificationKey]) -> [Parameter] {
        RecipientKey.parameters(keys.map(\.recipient)) + [.textArray(keys.map(\.notification.text))]
    }
}

extension Rows {
    /// From the columns app, user_id, notification_id; nil where they hold what no program of ours wrote.
    func notificationKey(_ row: Int) throws(PostgresError) -> NotificationKey? {
        NotificationKey(try text(row, 0), try text(row, 1), try text(row, 2))
    }
}
