import Postgres

/// Through what a notification leaves the house.
package enum Channel: String, CaseIterable, Sendable {
    case push
    case email
}

/// One line of the ledger: a notification, a channel, and where it goes.
package struct DeliveryKey: Hashable, Sendable {
    package let notification: NotificationKey
    package let channel: Channel
    /// A subscription's id, `email`, or `-` where nothing was eligible.
    package let target: String

    package init(notification: NotificationKey, channel: Channel, target: String) {
        self.notification = notification
        self.channel = channel
        self.target = target
    }

    /// From the texts of a row, a letter or a line; nil where one is missing or is none of ours.
    package init?(_ app: String?, _ user: String?, _ notification: String?, _ channel: String?, _ target: String?) {
        guard let notification = NotificationKey(app, user, notification),
            let channel = channel.flatMap(Channel.init(rawValue:)), let target
        else { return nil }
        self.init(notification: notification, channel: channel, target: target)
    }
}

extension DeliveryKey {
    static func parameters(_ keys: [DeliveryKey]) -> [Parameter] {
        NotificationKey.parameters(keys.map(\.notification)) + [
            .textArray(keys.map(\.channel.rawValue)), .textArray(keys.map(\.target)),
        ]
    }
}

extension Rows {
    /// From the columns app, user_id, notification_id, channel, target.
    func deliveryKey(_ row: Int) throws(PostgresError) -> DeliveryKey? {
        DeliveryKey(try text(row, 0), try text(row, 1), try text(row, 2), try text(row, 3), try text(row, 4))
    }
}
