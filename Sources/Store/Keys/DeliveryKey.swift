import BellhopRules
import Postgres

/// The channel of a delivery.
package enum Channel: String, CaseIterable, Sendable {
    case push
    case email
}

/// The key of a delivery: a notification, a channel and a target.
package struct DeliveryKey: Hashable, Sendable {
    package var notification: NotificationKey
    package let channel: Channel
    /// A subscription's id, `email`, or `-` if there was no destination.
    package let target: String

    package init(notification: NotificationKey, channel: Channel, target: String) {
        self.notification = notification
        self.channel = channel
        self.target = target
    }

    /// Creates a key from the texts of a dead letter or a row; `nil` if one is missing or invalid.
    package init?(_ app: String?, _ user: String?, _ notification: String?, _ channel: String?, _ target: String?) {
        guard let notification = NotificationKey(app, user, notification),
            let channel = channel.flatMap(Channel.init(rawValue:)), let target
        else { return nil }
        self.init(notification: notification, channel: channel, target: target)
    }
}

extension DeliveryKey {
    /// Returns app, user, notification number and target number as parameters; the statement looks up the user.
    static func parameters(_ keys: [DeliveryKey]) -> [Parameter] {
        NotificationKey.parameters(keys.map(\.notification)) + [
            .integerArray(keys.map { TargetNumber.number(of: $0.target) })
        ]
    }

    /// Returns app, user, notification, channel and target as stored with dead letters.
    static func texts(_ keys: [DeliveryKey]) -> [Parameter] {
        UserKey.parameters(keys.map(\.notification.recipient)) + [
            .textArray(keys.map(\.notification.notification.text)), .textArray(keys.map(\.channel.rawValue)),
            .textArray(keys.map(\.target)),
        ]
    }

    /// Returns the numbers of user, notification and target: the primary key of the ledger.
    ///
    /// The users' numbers must come from the history of the querying session.
    static func ledgerParameters(_ keys: some Collection<DeliveryKey>) -> [Parameter] {
        [
            .integerArray(keys.map(\.notification.recipient.number?.value)),
            .integerArray(keys.map(\.notification.notification.number)),
            .integerArray(keys.map { TargetNumber.number(of: $0.target) }),
        ]
    }

    /// Creates a key from a target's number.
    init(_ notification: NotificationKey, target number: Int64) {
        self.init(
            notification: notification,
            channel: number == TargetNumber.mailbox ? .email : .push,
            target: TargetNumber.target(of: number)
        )
    }
}

extension Rows {
    /// Reads a key from the columns app, user_id, notification number, target number and user number.
    func deliveryKey(_ row: Int) throws(PostgresError) -> DeliveryKey? {
        guard var notification = try notificationKey(row) else { return nil }
        notification.recipient.number = try personNumber(row, 4)
        return DeliveryKey(notification, target: try integer(row, 3))
    }
}
