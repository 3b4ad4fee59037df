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

/// Converts targets of deliveries to and from the ledger's eight bytes, which are the hex digits of a subscription's
/// id.
package enum TargetNumber {
    /// The number for mail: a user has one address.
    static let mailbox: Int64 = 0
    /// The number for a delivery without a destination.
    static let nobody: Int64 = -1

    /// Returns the number of a target; `nil` for a text that is not a target and therefore not in the ledger.
    package static func number(of target: String) -> Int64? {
        guard target.utf8.count == 20 else {
            return target == Words.mailbox ? mailbox : target == Words.nobody ? nobody : nil
        }
        return target.withBytes { bytes in
            let isSubscription = prefix.withBytes { $0.hasSameBytes(as: UnsafeBufferPointer(rebasing: bytes[..<4])) }
            return isSubscription ? digits(UnsafeBufferPointer(rebasing: bytes[4...])) : nil
        }
    }

    private static func digits(_ bytes: UnsafeBufferPointer<UInt8>) -> Int64? {
        var bits: UInt64 = 0
        for byte in bytes {
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): bits = bits << 4 | UInt64(byte - UInt8(ascii: "0"))
            case UInt8(ascii: "a")...UInt8(ascii: "f"): bits = bits << 4 | UInt64(byte - UInt8(ascii: "a") + 10)
            default: return nil
            }
        }
        return Int64(bitPattern: bits)
    }

    package static func target(of number: Int64) -> String {
        switch number {
        case mailbox: return Words.mailbox
        case nobody: return Words.nobody
        default:
            let digits = String(UInt64(bitPattern: number), radix: 16)
            return prefix + String(repeating: "0", count: 16 - digits.utf8.count) + digits
        }
    }

    static let prefix = "sub_"

    /// The names of the two targets that are not devices.
    enum Words {
        static let mailbox = "email"
        static let nobody = "-"
    }
}
