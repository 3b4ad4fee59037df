import BellhopRules
import Push
import Store

extension Decider {
    /// The decision about a claimed delivery that was resumed.
    ///
    /// It is decided again, and may not be sent after all.
    enum Resumed {
        case send(OutgoingDelivery)
        /// It is sent together with others.
        case gather(DigestEntry)
        case withheld(Disposition)

        /// The delivery that is sent, alone or together with others.
        var shipment: OutgoingDelivery? {
            switch self {
            case .send(let shipment): shipment
            case .gather(let entry): entry.shipment
            case .withheld: nil
            }
        }
    }

    /// A resumed delivery, with the data for its decision.
    struct ResumedDelivery {
        let claimed: ClaimedDelivery
        /// The notification; `nil` if its user was erased meanwhile.
        let stored: StoredNotification?
        let recipient: Recipient
        /// The user's follow of the notification's topic, if it has one and the follow still exists.
        let follow: StoredFollow?
        /// The position of the message that named it.
        let index: Int
        let lease: Lease
    }

    /// The time within which a new catalogue must reach all workers.
    static let patienceWithCatalogs = Duration.seconds(900)

    func resume(_ returned: ResumedDelivery) -> Resumed {
        let (claimed, key) = (returned.claimed, returned.claimed.key.notification)
        guard let stored = returned.stored else { return returned.withheld(.suppress(.recipientErased), at: now) }
        guard let catalog = catalogs[key.recipient.app], let type = catalog[stored.content.type] else {
            // The type was valid at recording. The catalogues here may be older, and another worker processes the
            // delivery.
            let age = now.microseconds - stored.createdAt.microseconds
            return age < Self.patienceWithCatalogs.microseconds
                ? .withheld(.putOff(claimed.key, because: .unknownType, index: returned.index))
                : returned.withheld(.suppress(.unknownType), at: now)
        }
        let follow = returned.follow?.facts(for: key.recipient, with: returned.recipient.devices)
        var facts = facts(stored.content, catalog, type, returned.recipient, follow)
        facts.history.isRead = stored.isRead
        facts.history.isSuperseded = stored.isSuperseded
        facts.history.digest = claimed.digest
        switch ruling(on: claimed.key, facts) {
        case .withhold(let withholding): return returned.withheld(withholding, at: now)
        case .send(let route):
            let payload = Payload(route, key, stored.content, type, unread: returned.recipient.unread)
            let shipment = OutgoingDelivery(
                index: returned.index,
                key: claimed.key,
                content: stored.content,
                type: type,
                attempts: claimed.attempts,
                isRepeat: claimed.outcomeWasUnknown,
                payload: payload,
                lease: returned.lease,
                queuedAt: claimed.queuedAt ?? stored.createdAt
            )
            guard case .push(let message) = payload, let slot = claimed.digest else { return .send(shipment) }
            return .gather(DigestEntry(shipment: shipment, message: message, slot: slot, createdAt: stored.createdAt))
        }
    }

    /// Rules on a delivery that has a row in the ledger.
    private func ruling(on key: DeliveryKey, _ facts: DecisionFacts) -> DeliveryRuling {
        let (outcome, device) = Decision(facts).outcome(of: key)
        guard key.channel == .push else { return mailRuling(outcome, facts) }
        // The user had a device when the notification was recorded.
        guard outcome != .suppress(.noDevice) else { return .withhold(.suppress(.deviceGone)) }
        return ruling(outcome, to: device, of: facts.catalog.app)
    }
}

extension Decider.ResumedDelivery {
    fileprivate func withheld(_ withholding: DeliveryRuling.Withholding, at now: Timestamp) -> Decider.Resumed {
        .withheld(Disposition(index: index, Settlement(withholding, of: claimed, at: now)))
    }
}
