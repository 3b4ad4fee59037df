package import BellhopRules

/// The initial row of a delivery in the ledger, without its notification.
package struct NewDelivery: Sendable, Equatable {
    package let channel: Channel
    package let target: String
    package let state: DeliveryState
    package let reason: String?
    /// The time until which a `deferred` delivery waits.
    package var wait: Wait?

    /// Returns a delivery that the recording statement claims, so that it can be sent immediately.
    package static func sending(to target: String, by channel: Channel = .push) -> NewDelivery {
        NewDelivery(channel: channel, target: target, state: .sending, reason: nil)
    }

    package static func suppressed(_ reason: SuppressionReason, target: String = nobody) -> NewDelivery {
        NewDelivery(channel: .push, target: target, state: .suppressed, reason: reason.rawValue)
    }

    /// Returns a delivery for which the rules run again when it is due.
    package static func deferred(to target: String, _ wait: Wait) -> NewDelivery {
        NewDelivery(channel: .push, target: target, state: .deferred, reason: wait.reason.rawValue, wait: wait)
    }

    package static func expired(target: String = nobody) -> NewDelivery {
        NewDelivery(channel: .push, target: target, state: .expired, reason: "expired-before-sending")
    }

    /// Whether the delivery begins in its terminal state because it has no destination.
    var isUnsent: Bool { (state == .suppressed || state == .expired) && target == Self.nobody }

    /// The target if no device and no address was eligible.
    package static let nobody = TargetNumber.Words.nobody
    /// The target of every mail: a user has one address.
    package static let mailbox = TargetNumber.Words.mailbox
}

extension Wait {
    /// The JSON that the ledger stores: `{"until": …}`, with the digest's slot or the mark of a burst.
    var json: [UInt8] {
        var object: JSONObject = ["until": .string(until.description)]
        if reason == .digest { object[Self.slotKey] = .string(until.description) }
        if reason == .burst { object[Self.burstKey] = .bool(true) }
        return object.jsonBytes
    }

    /// The member that marks a wait for the end of a burst.
    static let burstKey = "burst"

    /// The member that names the delivery's digest.
    static let slotKey = "digest"
}
