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
        let key = returned.claimed.key.notification
        guard let stored = returned.stored else { return returned.suppressed(.recipientErased) }
        guard let catalog = catalogs[key.recipient.app], let type = catalog[stored.content.type] else {
            // The type was valid at recording. The catalogues here may be older, and another worker processes the
            // delivery.
            let age = now.microseconds - stored.createdAt.microseconds
            return age < Self.patienceWithCatalogs.microseconds
                ? returned.putOff() : returned.suppressed(.unknownType)
        }
        let follow = returned.follow?.facts(for: key.recipient, with: returned.recipient.devices)
        var facts = facts(stored.content, catalog, type, returned.recipient, follow)
        facts.history.isRead = stored.isRead
        facts.history.isSuperseded = stored.isSuperseded
        facts.history.digest = returned.claimed.digest
        let decision = Decision(facts)
        return switch returned.claimed.key.channel {
        case .email: mail(returned, stored.content, decision.email ?? .suppress(.emailDisabled), catalog, type)
        case .push: push(returned, stored, decision, type)
        }
    }

    private func mail(
        _ returned: ResumedDelivery,
        _ content: NotificationContent,
        _ outcome: Outcome,
        _ catalog: Catalog,
        _ type: CatalogType
    ) -> Resumed {
        let key = returned.claimed.key.notification
        switch outcome {
        case .expire: return returned.expired
        case .suppress(let reason): return returned.suppressed(reason)
        // A mail waits only for the conditions that affect everything, and those end in the cases above.
        case .drop, .wait: return returned.suppressed(.emailDisabled)
        case .send:
            guard senders.mails(key.recipient.app) else { return returned.suppressed(.noProvider) }
            guard let mail = EmailMessage(key, content, returned.recipient, catalog) else {
                return returned.suppressed(.noAddress)
            }
            return .send(returned.shipment(content, type, .mail(mail)))
        }
    }

    private func push(
        _ returned: ResumedDelivery,
        _ stored: StoredNotification,
        _ decision: Decision,
        _ type: CatalogType
    ) -> Resumed {
        let key = returned.claimed.key.notification
        let ruling = decision.devices.first { $0.device.subscription == returned.claimed.key.target }
        switch decision.push ?? ruling?.outcome ?? .suppress(.deviceGone) {
        case .expire: return returned.expired
        case .suppress(let reason): return returned.suppressed(reason == .noDevice ? .deviceGone : reason)
        case .drop: return returned.suppressed(.quietHours)
        case .wait(let wait): return returned.waiting(wait, now)
        case .send:
            guard let device = ruling?.device else { return returned.suppressed(.deviceGone) }
            guard senders.serves(key.recipient.app, device.provider) else { return returned.suppressed(.noProvider) }
            let message = PushMessage(key, stored.content, type, to: device, unread: returned.recipient.unread)
            let shipment = returned.shipment(stored.content, type, .push(message))
            guard let slot = returned.claimed.digest else { return .send(shipment) }
            return .gather(DigestEntry(shipment: shipment, message: message, slot: slot, createdAt: stored.createdAt))
        }
    }
}

extension Decider.ResumedDelivery {
    fileprivate func shipment(_ content: NotificationContent, _ type: CatalogType, _ payload: Payload)
        -> OutgoingDelivery
    {
        OutgoingDelivery(
            index: index,
            key: claimed.key,
            content: content,
            type: type,
            attempts: claimed.attempts,
            isRepeat: claimed.outcomeWasUnknown,
            payload: payload,
            lease: lease,
            queuedAt: claimed.queuedAt ?? stored?.createdAt
        )
    }

    fileprivate var expired: Decider.Resumed {
        ruledOut(.expired, claimed.wasHeld ? "expired-while-held" : "expired-while-waiting")
    }

    fileprivate func suppressed(_ reason: SuppressionReason) -> Decider.Resumed {
        ruledOut(.suppressed, reason.rawValue)
    }

    /// Returns to a wait that a rule requires.
    fileprivate func waiting(_ wait: Wait, _ now: Timestamp) -> Decider.Resumed {
        let left = Duration.microseconds(max(0, wait.until.microseconds - now.microseconds))
        var settlement = Settlement(
            claimed.key,
            .deferred,
            reason: wait.reason.rawValue,
            burnsAttempt: false,
            dueIn: left
        )
        settlement.wait = wait
        return .withheld(Disposition(index: index, settlement))
    }

    /// Defers the delivery for a minute, since this worker does not know its type.
    fileprivate func putOff() -> Decider.Resumed {
        .withheld(.putOff(claimed.key, because: .unknownType, index: index))
    }

    private func ruledOut(_ state: DeliveryState, _ reason: String) -> Decider.Resumed {
        .withheld(Disposition(index: index, Settlement(claimed.key, state, reason: reason, burnsAttempt: false)))
    }
}
