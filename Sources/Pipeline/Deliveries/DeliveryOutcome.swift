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
    /// The device, where this was the first push to it that was taken.
    var reachedDevice: ReachedDevice?

    /// A delivery that was given up.
    struct Loss: Sendable {
        let fault: Fault
        let key: DeliveryKey
        let attempts: Int
    }

    /// What becomes of all deliveries of a part of the parcels: as many for each as it has positions.
    static func all(
        _ part: Dispatcher.Part,
        of parcels: [Parcel],
        _ policy: DeliveryPolicy,
        _ sentAt: Timestamp
    ) -> [DeliveryOutcome] {
        let ladder = policy.ladder
        var outcomes: [DeliveryOutcome] = []
        outcomes.reserveCapacity(part.count)
        for (position, arrival) in part {
            let parcel = parcels[position]
            outcomes.append(DeliveryOutcome(parcel, parcel.index, parcel.key, arrival, ladder))
            if let dead = DeadDevice(parcel, arrival, sentAt) { outcomes[outcomes.count - 1].deadDevice = dead }
            if let reached = ReachedDevice(parcel, arrival) { outcomes[outcomes.count - 1].reachedDevice = reached }
            for companion in parcel.companions {
                outcomes.append(DeliveryOutcome(parcel, companion.index, companion.key, arrival, ladder))
            }
        }
        for index in outcomes.indices where outcomes[index].settlement.state == .accepted {
            outcomes[index].settlement.sentAt = sentAt
            outcomes[index].settlement.dueIn = policy.receipts.firstLook
        }
        return outcomes
    }

    private init(_ parcel: Parcel, _ index: Int, _ key: DeliveryKey, _ arrival: Arrival, _ ladder: RetryLadder) {
        self.index = index
        let step: RetryLadder.Step
        switch arrival {
        case .answered(let verdict):
            step = ladder.step(
                after: verdict,
                attempts: parcel.attempts,
                limit: parcel.retryLimit,
                isLate: Int.random(in: 0..<4) == 0
            )
        case .notStarted: step = ladder.stepWhenNotStarted()
        case .lapsed: step = ladder.stepWhenLapsed()
        case .held(let hold): step = ladder.step(after: hold)
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

    /// A delivery of which nothing is sent now: it was decided anew when it came back, or its provider has answered later.
    init(index: Int, _ settlement: Settlement) {
        self.index = index
        self.settlement = settlement
    }
}

extension ReachedDevice {
    /// Nil where nothing was taken, or something had been before.
    ///
    /// Where a provider answers later, a ticket proves nothing: strangers' tokens get one, too.
    init?(_ parcel: Parcel, _ arrival: Arrival) {
        guard case .answered(.delivered) = arrival, let device = parcel.cargo.device, !device.wasReached else {
            return nil
        }
        self.init(
            recipient: parcel.key.notification.recipient,
            subscription: parcel.key.target,
            token: device.token
        )
    }
}

extension DeadDevice {
    init?(_ parcel: Parcel, _ arrival: Arrival, _ sentAt: Timestamp) {
        guard case .answered(.deviceGone(let reason, let since)) = arrival, let device = parcel.cargo.device else {
            return nil
        }
        self.init(
            recipient: parcel.key.notification.recipient,
            subscription: parcel.key.target,
            token: device.token,
            reason: reason.rawValue,
            deadSince: since ?? sentAt
        )
    }
}
