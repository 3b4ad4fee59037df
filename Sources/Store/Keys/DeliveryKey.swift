import BellhopRules
import Postgres

/// Through what a notification leaves the house.
package enum Channel: String, CaseIterable, Sendable {
    case push
    case email
}

/// One line of the ledger: a notification, a channel, and where it goes.
package struct DeliveryKey: Hashable, Sendable {
    package var notification: NotificationKey
    package let channel: Channel
    /// A subscription's id, `email`, or `-` where nothing was eligible.
    package let target: String

    package init(notification: NotificationKey, channel: Channel, target: String) {
        self.notification = notification
        self.channel = channel
        self.target = target
    }

    /// From the texts of a letter or a line; nil where one is missing or is none of ours.
    package init?(_ app: String?, _ user: String?, _ notification: String?, _ channel: String?, _ target: String?) {
        guard let notification = NotificationKey(app, user, notification),
            let channel = channel.flatMap(Channel.init(rawValue:)), let target
        else { return nil }
        self.init(notification: notification, channel: channel, target: target)
    }
}

extension DeliveryKey {
    /// App, user, the notification's number and the target's; the statement looks the user up.
    static func parameters(_ keys: [DeliveryKey]) -> [Parameter] {
        NotificationKey.parameters(keys.map(\.notification)) + [
            .integerArray(keys.map { TargetNumber.number(of: $0.target) })
        ]
    }

    /// App, user, notification, channel and target as letters name them.
    static func texts(_ keys: [DeliveryKey]) -> [Parameter] {
        RecipientKey.parameters(keys.map(\.notification.recipient)) + [
            .textArray(keys.map(\.notification.notification.text)), .textArray(keys.map(\.channel.rawValue)),
            .textArray(keys.map(\.target)),
        ]
    }

    /// The user's number, the notification's and the target's: the key of the ledger, for users who were looked up in the
    /// history of the session that asks.
    static func ledgerParameters(_ keys: some Collection<DeliveryKey>) -> [Parameter] {
        [
            .integerArray(keys.map(\.notification.recipient.number?.value)),
            .integerArray(keys.map(\.notification.notification.number)),
            .integerArray(keys.map { TargetNumber.number(of: $0.target) }),
        ]
    }

    /// The line of a target's number.
    init(_ notification: NotificationKey, target number: Int64) {
        self.init(
            notification: notification,
            channel: number == TargetNumber.mailbox ? .email : .push,
            target: TargetNumber.target(of: number)
        )
    }
}

extension Rows {
    /// From the columns app, user_id, the notification's number, the target's and the user's.
    func deliveryKey(_ row: Int) throws(PostgresError) -> DeliveryKey? {
        guard var notification = try notificationKey(row) else { return nil }
        notification.recipient.number = try personNumber(row, 4)
        return DeliveryKey(notification, target: try integer(row, 3))
    }
}
