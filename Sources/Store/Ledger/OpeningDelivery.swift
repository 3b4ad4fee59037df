package import BellhopRules

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

    /// Whether it ends as it begins, for want of anybody to send it to.
    var isUnsent: Bool { target == Self.nobody && (state == .suppressed || state == .expired) }

    /// The target where nothing was eligible.
    package static let nobody = TargetNumber.Words.nobody
    /// The target of every mail: a user has one address.
    package static let mailbox = TargetNumber.Words.mailbox
}

extension Wait {
    /// What the ledger keeps of it: `{"until": …}` with the slot of a digest, or that it was for a burst.
    var json: [UInt8] {
        var object: JSONObject = ["until": .string(until.description)]
        if reason == .digest { object[Self.slotKey] = .string(until.description) }
        if reason == .burst { object[Self.burstKey] = .bool(true) }
        return object.jsonBytes
    }

    /// The member by which a line says that it waited for the end of a burst.
    static let burstKey = "burst"

    /// The member by which a line says what digest it belongs to.
    static let slotKey = "digest"
}
