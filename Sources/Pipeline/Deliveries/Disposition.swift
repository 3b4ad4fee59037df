import AMQP
import BellhopRules
import Push
import ServiceRuntime
import Store

/// The outcome of one delivery: the settlement of its row in the ledger, and the required follow-up.
///
/// It is the only value that passes from a provider's verdict, or a rule's, to the database.
struct Disposition: Sendable {
    /// The position of the broker's message in its batch.
    let index: Int
    var settlement: Settlement
    /// The tier in which its resume waits.
    var tier: RetryTier?
    /// The provider's last reason, if the delivery is given up.
    ///
    /// The dead letter carries it before the ledger does.
    var lastWord: String?
    /// That dead letter.
    var loss: AbandonedDelivery?
    var deadDevice: DeadDevice?
    /// The device, if this push was the first to it that was accepted.
    var reachedDevice: ReachedDevice?
    /// Whether it may have been accepted although an earlier send may have been accepted, too.
    var isRepeat = false

    init(index: Int, _ settlement: Settlement) {
        self.index = index
        self.settlement = settlement
    }

    /// Ends a delivery whose event an operator has discarded; no attempt is counted.
    static func discarded(_ shipment: OutgoingDelivery) -> Disposition {
        Disposition(
            index: shipment.index,
            Settlement(shipment.key, .suppressed, reason: HoldAdmin.discarded, burnsAttempt: false)
        )
    }

    /// Defers a delivery for a minute; no attempt is counted.
    static func putOff(_ key: DeliveryKey, because reason: WaitReason, index: Int = 0) -> Disposition {
        let wait = Duration.seconds(60)
        return Disposition(
            index: index,
            Settlement(key, .deferred, reason: reason.rawValue, burnsAttempt: false, dueIn: wait)
        )
    }
}

/// The input of the retry ladder: one delivery and the number of its earlier attempts.
struct Attempt: Sendable {
    let index: Int
    let key: DeliveryKey
    var attempts = 0
    /// The retry limit of its type; `nil` for the usual limit.
    var limit: Int?
}

extension DeliveryPolicy {
    /// Returns the dispositions of all deliveries in these shipments, after their provider's answers.
    func dispositions(
        of answered: [(shipment: OutgoingDelivery, verdict: Verdict)],
        sentAt: Timestamp,
        using chance: RandomSource
    ) -> [Disposition] {
        var chance = chance
        var dispositions: [Disposition] = []
        dispositions.reserveCapacity(answered.count)
        for (shipment, verdict) in answered {
            // One random draw per shipment: deliveries that were sent together return together.
            let isLate = verdict.notBefore != nil && Int.random(in: 0..<4, using: &chance) == 0
            dispositions.append(disposition(of: shipment.attempt, in: shipment, after: verdict, sentAt, isLate: isLate))
            let last = dispositions.count - 1
            dispositions[last].deadDevice = DeadDevice(shipment, verdict, sentAt)
            dispositions[last].reachedDevice = ReachedDevice(shipment, verdict)
            dispositions[last].isRepeat = shipment.isRepeat && verdict.mayBeTaken
            for companion in shipment.companions {
                let attempt = shipment.attempt(of: companion)
                dispositions.append(disposition(of: attempt, in: shipment, after: verdict, sentAt, isLate: isLate))
            }
        }
        return dispositions
    }

    private func disposition(
        of attempt: Attempt,
        in shipment: OutgoingDelivery,
        after verdict: Verdict,
        _ sentAt: Timestamp,
        isLate: Bool
    ) -> Disposition {
        var disposition = ladder.disposition(of: attempt, after: verdict, isLate: isLate)
        if let last = disposition.lastWord {
            let cause = DeadLetterCause(shipment, reason: disposition.settlement.reason ?? "", lastReason: last)
            disposition.loss = AbandonedDelivery(cause: cause, key: attempt.key, attempts: attempt.attempts + 1)
        }
        if disposition.settlement.state == .accepted {
            disposition.settlement.sentAt = sentAt
            disposition.settlement.dueIn = receipts.firstLook
        }
        return disposition
    }
}

extension OutgoingDelivery {
    /// Puts all its deliveries into a backlog, because nothing was sent through the lane.
    ///
    /// They wait together, each at its own turn.
    func put(into backlog: BacklogKey, from lane: Lane, because reason: WaitReason) -> [Disposition] {
        let entry = BacklogEntry(BacklogPlace(backlog, priority(in: lane) ?? .low), queuedAt: queuedAt)
        let lines = [BundledDelivery(index: index, key: key, type: ownType)] + companions
        return lines.map { line in
            var settlement = Settlement(line.key, .deferred, reason: reason.rawValue, burnsAttempt: false)
            settlement.backlog = entry
            return Disposition(index: line.index, settlement)
        }
    }

    fileprivate var attempt: Attempt { Attempt(index: index, key: key, attempts: attempts, limit: retryLimit) }

    fileprivate func attempt(of companion: BundledDelivery) -> Attempt {
        Attempt(index: companion.index, key: companion.key, attempts: attempts, limit: retryLimit)
    }
}

extension ReachedDevice {
    /// Creates `nil` if nothing was accepted, or if the device was reached before.
    ///
    /// A push ticket is not evidence, because unreached devices get tickets, too.
    fileprivate convenience init?(_ shipment: OutgoingDelivery, _ verdict: Verdict) {
        guard case .delivered = verdict, !shipment.wasReached, let device = shipment.payload.device else { return nil }
        self.init(recipient: shipment.key.notification.recipient, device: device)
    }
}

extension DeadDevice {
    fileprivate convenience init?(_ shipment: OutgoingDelivery, _ verdict: Verdict, _ sentAt: Timestamp) {
        guard case .deviceGone(let reason, let since) = verdict, let device = shipment.payload.device else {
            return nil
        }
        self.init(
            recipient: shipment.key.notification.recipient,
            subscription: shipment.key.target,
            token: device.token,
            reason: reason.rawValue,
            deadSince: since ?? sentAt
        )
    }
}

extension DeadLetterCause {
    /// Creates the cause of a delivery that was given up; `lastReason` is the provider's last reason.
    fileprivate init(_ shipment: OutgoingDelivery, reason: String, lastReason: String) {
        self.init(.dispatch, reason: reason, error: "\(shipment.outlet.provider) said \(lastReason)")
        app = shipment.app.text
        eventID = shipment.event.text
        eventType = shipment.payload.type.text
        user = shipment.key.notification.recipient.user.text
        provider = shipment.outlet.provider
    }
}
