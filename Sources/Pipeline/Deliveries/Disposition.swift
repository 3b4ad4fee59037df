import AMQP
import BellhopRules
import Push
import ServiceRuntime
import Store

/// What becomes of one delivery: the settlement of its line in the ledger, and what has to follow.
///
/// The one value from a provider's verdict, or a rule's, to the database.
struct Disposition: Sendable {
    /// The position of the broker's message in its batch.
    let index: Int
    var settlement: Settlement
    /// The tier in which its resume waits.
    var tier: RetryTier?
    /// The provider's last word, where it is given up: a dead letter says so before the ledger does.
    var lastWord: String?
    /// That dead letter.
    var loss: LostDelivery?
    var deadDevice: DeadDevice?
    /// The device, where this was the first push to it that was taken.
    var reachedDevice: ReachedDevice?
    /// It may have been taken although an earlier send may have been, too.
    var isRepeat = false

    init(index: Int, _ settlement: Settlement) {
        self.index = index
        self.settlement = settlement
    }

    /// Defers a delivery for a minute; no attempt is counted.
    static func putOff(_ key: DeliveryKey, because reason: String, index: Int = 0) -> Disposition {
        let wait = Duration.seconds(60)
        return Disposition(
            index: index,
            Settlement(key, .deferred, reason: reason, burnsAttempt: false, dueIn: wait)
        )
    }
}

/// What the ladder looks at: one delivery, and how often it was tried before.
struct Attempt: Sendable {
    let index: Int
    let key: DeliveryKey
    var attempts = 0
    /// After how many attempts its type gives it up; nil for the usual limit.
    var limit: Int?
}

extension DeliveryPolicy {
    /// What becomes of all deliveries in these shipments, after their provider's answers.
    func dispositions(
        of answered: [(shipment: Shipment, verdict: Verdict)],
        sentAt: Timestamp,
        using chance: Chance
    ) -> [Disposition] {
        var chance = chance
        var dispositions: [Disposition] = []
        dispositions.reserveCapacity(answered.count)
        for (shipment, verdict) in answered {
            // One draw for a shipment: what went out together comes back together.
            let isLate = verdict.notBefore != nil && Int.random(in: 0..<4, using: &chance) == 0
            var own = disposition(of: shipment.attempt, in: shipment, after: verdict, sentAt, isLate: isLate)
            own.deadDevice = DeadDevice(shipment, verdict, sentAt)
            own.reachedDevice = ReachedDevice(shipment, verdict)
            own.isRepeat = shipment.isRepeat && verdict.mayBeTaken
            dispositions.append(own)
            for companion in shipment.companions {
                let attempt = shipment.attempt(of: companion)
                dispositions.append(disposition(of: attempt, in: shipment, after: verdict, sentAt, isLate: isLate))
            }
        }
        return dispositions
    }

    private func disposition(
        of attempt: Attempt,
        in shipment: Shipment,
        after verdict: Verdict,
        _ sentAt: Timestamp,
        isLate: Bool
    ) -> Disposition {
        var disposition = ladder.disposition(of: attempt, after: verdict, isLate: isLate)
        if let last = disposition.lastWord {
            let cause = DeadLetterCause(shipment, reason: disposition.settlement.reason ?? "", lastReason: last)
            disposition.loss = LostDelivery(cause: cause, key: attempt.key, attempts: attempt.attempts + 1)
        }
        if disposition.settlement.state == .accepted {
            disposition.settlement.sentAt = sentAt
            disposition.settlement.dueIn = receipts.firstLook
        }
        return disposition
    }
}

extension Shipment {
    /// What becomes of all its deliveries, of which nothing was taken on its way through a lane: they wait side by side, each
    /// at its turn.
    func put(into backlog: BacklogKey, from lane: Lane, because hindrance: Hindrance) -> [Disposition] {
        let entry = BacklogEntry(BacklogPlace(backlog, priority(in: lane) ?? .low), queuedAt: queuedAt)
        let lines = [Companion(index: index, key: key, type: ownType)] + companions
        return lines.map { line in
            var settlement = Settlement(line.key, .deferred, reason: hindrance.rawValue, burnsAttempt: false)
            settlement.backlog = entry
            return Disposition(index: line.index, settlement)
        }
    }

    fileprivate var attempt: Attempt { Attempt(index: index, key: key, attempts: attempts, limit: retryLimit) }

    fileprivate func attempt(of companion: Companion) -> Attempt {
        Attempt(index: companion.index, key: companion.key, attempts: attempts, limit: retryLimit)
    }
}

extension ReachedDevice {
    /// Nil where nothing was taken, or something had been before.
    ///
    /// Where a provider answers later, a ticket proves nothing: strangers' tokens get one, too.
    fileprivate init?(_ shipment: Shipment, _ verdict: Verdict) {
        guard case .delivered = verdict, let device = shipment.payload.device, !device.wasReached else { return nil }
        self.init(
            recipient: shipment.key.notification.recipient,
            subscription: shipment.key.target,
            token: device.token
        )
    }
}

extension DeadDevice {
    fileprivate init?(_ shipment: Shipment, _ verdict: Verdict, _ sentAt: Timestamp) {
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
    /// A delivery that was given up; `lastReason` is the provider's last word.
    fileprivate init(_ shipment: Shipment, reason: String, lastReason: String) {
        self.init(.dispatch, reason: reason, error: "\(shipment.outlet.provider) said \(lastReason)")
        app = shipment.app.text
        eventID = shipment.event.text
        eventType = shipment.payload.type.text
        user = shipment.key.notification.recipient.user.text
        provider = shipment.outlet.provider
    }
}
