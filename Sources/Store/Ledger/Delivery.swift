package import BellhopRules

/// Through what a notification leaves the house.
package enum Channel: String, CaseIterable, Sendable {
    case push
    case email
}

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
        guard let app = app.flatMap(AppID.init(validating:)), let user = user.flatMap(UserID.init(validating:)),
            let id = notification.flatMap(NotificationID.init(validating:))
        else { return nil }
        self.init(recipient: RecipientKey(app: app, user: user), notification: id)
    }
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

/// How a delivery enters the ledger, beside the notification that it is of.
package struct OpeningDelivery: Sendable, Equatable {
    package let channel: Channel
    package let target: String
    package let state: DeliveryState
    package let reason: String?
    /// Until when it waits, for `deferred`.
    package var wait: Wait?

    /// Claimed by the statement that records it: it goes out at once.
    package static func sending(to target: String, by channel: Channel = .push) -> OpeningDelivery {
        OpeningDelivery(channel: channel, target: target, state: .sending, reason: nil)
    }

    package static func suppressed(_ reason: SuppressionReason, target: String = nobody) -> OpeningDelivery {
        OpeningDelivery(channel: .push, target: target, state: .suppressed, reason: reason.rawValue)
    }

    /// Decided anew when its time has come.
    package static func deferred(to target: String, _ wait: Wait) -> OpeningDelivery {
        OpeningDelivery(channel: .push, target: target, state: .deferred, reason: wait.reason.rawValue, wait: wait)
    }

    package static func expired(target: String = nobody) -> OpeningDelivery {
        OpeningDelivery(channel: .push, target: target, state: .expired, reason: "expired-before-sending")
    }

    /// The target where nothing was eligible.
    package static let nobody = "-"
    /// The target of every mail: a user has one address.
    package static let mailbox = "email"
}

extension Wait {
    /// What the ledger keeps of it: `{"until": …}` with the slot of a digest.
    var json: [UInt8] {
        var object: JSONObject = ["until": .string(until.description)]
        if reason == .digest { object[Self.slotKey] = .string(until.description) }
        return object.jsonBytes
    }

    /// The member by which a line says what digest it belongs to.
    static let slotKey = "digest"
}

/// The right to send and to settle what one batch has claimed: a number that no other batch has.
package struct Claim: Sendable, Hashable {
    package let number: Int64

    package init(using chance: inout some RandomNumberGenerator) {
        number = Int64.random(in: .min ... .max, using: &chance)
    }
}

/// A delivery in the hands of its claimer.
package struct ClaimedDelivery: Sendable {
    package let key: DeliveryKey
    /// Attempts before this one.
    package let attempts: Int
    /// Of an earlier send nobody learnt what became of it: another one may be a repeat.
    package let outcomeWasUnknown: Bool
    /// The digest that it belongs to; nil where it goes out by itself.
    package let digest: Timestamp?
}

/// What became of a claimed delivery.
package struct Settlement: Sendable {
    package var key: DeliveryKey
    package var state: DeliveryState
    package var reason: String?
    package var providerMessageID: String?
    /// Whether the attempt counts.
    package var burnsAttempt: Bool
    /// Whether the provider may have taken it although it is not known to have.
    package var outcomeIsUnknown = false
    /// From now on by the database's clock, for `retrying`, `deferred` and `accepted`.
    package var dueIn: Duration?
    /// Why it waits, where a rule says so.
    package var wait: Wait?
    /// When it was sent, for what was accepted just now.
    package var sentAt: Timestamp?

    package init(
        _ key: DeliveryKey,
        _ state: DeliveryState,
        reason: String? = nil,
        providerMessageID: String? = nil,
        burnsAttempt: Bool = true,
        dueIn: Duration? = nil
    ) {
        self.key = key
        self.state = state
        self.reason = reason
        self.providerMessageID = providerMessageID
        self.burnsAttempt = burnsAttempt
        self.dueIn = dueIn
    }
}
