import BellhopRules
import Push
import Store

/// Applies the rules to notifications, with the providers that are there.
struct Decider: Sendable {
    let catalogs: CatalogSet
    let senders: SenderDirectory
    let zones: ZoneLibrary
    let now: Timestamp
    /// Under which lease the statement will have them that is to claim what is decided.
    var lease: Lease?

    /// What becomes of a new notification.
    enum Opening {
        /// It is kept nowhere.
        case nowhere(SuppressionReason)
        /// How it enters the ledger, and what goes out at once.
        case recorded(lines: [OpeningDelivery], parcels: [Parcel])
    }

    /// Decides about a new notification.
    func open(
        _ key: NotificationKey,
        _ content: NotificationContent,
        for recipient: Recipient,
        index: Int
    ) -> Opening {
        guard let catalog = catalogs[key.recipient.app], let type = catalog[content.type] else {
            return .recorded(lines: [.suppressed(.unknownType)], parcels: [])
        }
        let decision = Decision(facts(content, catalog, type, recipient))
        var lines: [OpeningDelivery] = []
        var parcels: [Parcel] = []
        if let outcome = decision.push {
            if case .suppress(let reason) = outcome, !decision.isRecorded { return .nowhere(reason) }
            lines.append(line(outcome, to: OpeningDelivery.nobody))
        }
        // A mail that is not sent leaves no line: most users have no address, and `explain` tells what the rules say.
        if decision.email == .send, senders.mails(key.recipient.app),
            let mail = EmailMessage(key, content, recipient, catalog)
        {
            lines.append(.sending(to: OpeningDelivery.mailbox, by: .email))
            let line = DeliveryKey(notification: key, channel: .email, target: OpeningDelivery.mailbox)
            parcels.append(
                Parcel(index: index, key: line, content: content, type: type, cargo: .mail(mail), lease: lease)
            )
        }
        for ruling in decision.devices {
            let target = ruling.device.subscription
            guard case .send = ruling.outcome else {
                lines.append(line(ruling.outcome, to: target))
                continue
            }
            guard senders.serves(key.recipient.app, ruling.device.provider) else {
                lines.append(.suppressed(.noProvider, target: target))
                continue
            }
            lines.append(.sending(to: target))
            parcels.append(
                Parcel(
                    index: index,
                    key: DeliveryKey(notification: key, channel: .push, target: target),
                    content: content,
                    type: type,
                    cargo: .push(PushMessage(key, content, type, to: ruling.device, unread: recipient.unread)),
                    lease: lease
                )
            )
        }
        return .recorded(lines: lines, parcels: parcels)
    }

    /// What becomes of a claimed delivery that comes back: it is decided anew, and may not be sent after all.
    func resume(
        _ claimed: ClaimedDelivery,
        of stored: StoredNotification?,
        for recipient: Recipient,
        index: Int
    ) -> Resumed {
        func withheld(_ settlement: Settlement) -> Resumed { .withheld(DeliveryOutcome(index: index, settlement)) }
        var expired: Resumed {
            withheld(Settlement(claimed.key, .expired, reason: "expired-while-waiting", burnsAttempt: false))
        }
        func suppressed(_ reason: SuppressionReason) -> Resumed {
            withheld(Settlement(claimed.key, .suppressed, reason: reason.rawValue, burnsAttempt: false))
        }
        let key = claimed.key.notification
        guard let stored else { return suppressed(.recipientErased) }
        guard let catalog = catalogs[key.recipient.app], let type = catalog[stored.content.type] else {
            return suppressed(.unknownType)
        }
        var facts = facts(stored.content, catalog, type, recipient)
        facts.history.isRead = stored.isRead
        facts.history.isSuperseded = stored.isSuperseded
        facts.history.isInDueDigest = claimed.digest.map { $0 <= now } ?? false
        let decision = Decision(facts)
        if claimed.key.channel == .email {
            switch decision.email ?? .suppress(.emailDisabled) {
            case .expire: return expired
            case .suppress(let reason): return suppressed(reason)
            // Nothing makes a mail wait but what makes everything wait, and that ends in the cases above.
            case .drop, .wait: return suppressed(.emailDisabled)
            case .send:
                guard senders.mails(key.recipient.app) else { return suppressed(.noProvider) }
                guard let mail = EmailMessage(key, stored.content, recipient, catalog) else {
                    return suppressed(.noAddress)
                }
                return .send(parcel(claimed, stored.content, type, .mail(mail), index))
            }
        }
        let ruling = decision.devices.first { $0.device.subscription == claimed.key.target }
        switch decision.push ?? ruling?.outcome ?? .suppress(.deviceGone) {
        case .expire: return expired
        case .suppress(let reason): return suppressed(reason == .noDevice ? .deviceGone : reason)
        case .drop: return suppressed(.quietHours)
        case .wait(let wait): return withheld(Settlement(claimed.key, waiting: wait, now: now))
        case .send:
            guard let device = ruling?.device else { return suppressed(.deviceGone) }
            guard senders.serves(key.recipient.app, device.provider) else { return suppressed(.noProvider) }
            let message = PushMessage(key, stored.content, type, to: device, unread: recipient.unread)
            let parcel = parcel(claimed, stored.content, type, .push(message), index)
            guard let slot = claimed.digest else { return .send(parcel) }
            return .gather(GatheredPush(parcel: parcel, message: message, slot: slot, createdAt: stored.createdAt))
        }
    }

    enum Resumed: Sendable {
        case send(Parcel)
        /// It goes out together with others.
        case gather(GatheredPush)
        case withheld(DeliveryOutcome)
    }

    private func parcel(
        _ claimed: ClaimedDelivery,
        _ content: NotificationContent,
        _ type: CatalogType,
        _ cargo: Cargo,
        _ index: Int
    ) -> Parcel {
        Parcel(
            index: index,
            key: claimed.key,
            content: content,
            type: type,
            attempts: claimed.attempts,
            isRepeat: claimed.outcomeWasUnknown,
            cargo: cargo,
            lease: lease
        )
    }

    func facts(
        _ content: NotificationContent,
        _ catalog: Catalog,
        _ type: CatalogType,
        _ recipient: Recipient
    ) -> DecisionFacts {
        var facts = DecisionFacts(catalog: catalog, type: type, recipient: recipient, now: now) { zones[$0] }
        facts.expiresAt = content.extras.expiresAt
        return facts
    }

    private func line(_ outcome: Outcome, to target: String) -> OpeningDelivery {
        switch outcome {
        case .send: .sending(to: target)
        case .wait(let wait): .deferred(to: target, wait)
        case .drop: .suppressed(.quietHours, target: target)
        case .suppress(let reason): .suppressed(reason, target: target)
        case .expire: .expired(target: target)
        }
    }
}

extension Settlement {
    /// Back to waiting, by a rule: nothing was sent.
    fileprivate init(_ key: DeliveryKey, waiting wait: Wait, now: Timestamp) {
        let left = Duration.microseconds(max(0, wait.until.microseconds - now.microseconds))
        self.init(key, .deferred, reason: wait.reason.rawValue, burnsAttempt: false, dueIn: left)
        self.wait = wait
    }
}
