import AMQP
import BellhopRules
import Push
import Store

/// What a verdict means for one delivery: its settlement, and what has to follow.
struct DeliveryOutcome: Sendable {
    /// The position of the broker's message in its batch.
    let index: Int
    var settlement: Settlement
    /// The tier in which its resume waits.
    var tier: RetryTier?
    /// What goes to the dead letters before the settlement.
    var loss: Loss?
    var deadDevice: DeadDevice?

    /// A delivery that was given up.
    struct Loss: Sendable {
        let fault: Fault
        let key: DeliveryKey
        let attempts: Int
    }

    init(_ parcel: Parcel, _ arrival: Arrival, _ ladder: RetryLadder, _ sentAt: Timestamp) {
        index = parcel.index
        let key = parcel.key
        let step: RetryLadder.Step
        switch arrival {
        case .answered(let verdict):
            step = ladder.step(after: verdict, attempts: parcel.attempts)
            deadDevice = DeadDevice(parcel, verdict, sentAt)
        case .notStarted: step = ladder.stepWhenNotStarted()
        }
        switch step {
        case .delivered(let id): settlement = Settlement(key, .delivered, providerMessageID: id)
        case .accepted(let ticket): settlement = Settlement(key, .accepted, providerMessageID: ticket)
        case .deviceGone(let reason): settlement = Settlement(key, .failed, reason: reason)
        case .giveUp(let reason, let lastReason):
            settlement = Settlement(key, .failed, reason: reason)
            loss = Loss(
                fault: Fault(parcel, reason: reason, lastReason: lastReason),
                key: key,
                attempts: parcel.attempts + 1
            )
        case .retry(let tier, let reason, let burns):
            settlement = Settlement(key, .retrying, reason: reason, burnsAttempt: burns, dueIn: tier.delay)
            self.tier = tier
        case .postpone(let wait, let reason, let burns):
            settlement = Settlement(key, .deferred, reason: reason, burnsAttempt: burns, dueIn: wait)
        }
        if case .answered(.unknown) = arrival { settlement.outcomeIsUnknown = true }
    }

    /// A delivery that is not sent after all, decided anew when it came back.
    init(index: Int, withheld key: DeliveryKey, _ state: DeliveryState, reason: String) {
        self.index = index
        settlement = Settlement(key, state, reason: reason, burnsAttempt: false)
    }
}

extension DeadDevice {
    fileprivate init?(_ parcel: Parcel, _ verdict: Verdict, _ sentAt: Timestamp) {
        guard case .deviceGone(let reason, let since) = verdict else { return nil }
        self.init(
            recipient: parcel.key.notification.recipient,
            subscription: parcel.key.target,
            token: parcel.message.device.token,
            reason: reason.rawValue,
            deadSince: since ?? sentAt
        )
    }
}
