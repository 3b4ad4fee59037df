import BellhopRules
import Push
import Settings
import Store

/// Applies the rules to notifications, with the configured providers.
struct Decider: Sendable {
    let catalogs: CatalogSet
    let senders: OutletDirectory
    let zones: ZoneLibrary
    let now: Timestamp

    /// Returns the same decider at another instant, because the look-ups for a decision may have taken long.
    func at(_ now: Timestamp) -> Decider {
        Decider(catalogs: catalogs, senders: senders, zones: zones, now: now)
    }

    /// The decisions about the new notifications of some messages.
    struct Decisions: Sendable {
        /// The notifications to record, each with its first rows in the ledger.
        var decided: [Entry<Decided>] = []
        /// The apps and reasons of notifications that are not stored at all.
        var nowhere: [(app: AppID, reason: SuppressionReason)] = []
    }

    /// A notification that is about to be recorded, with its routes afterwards.
    ///
    /// It is an object because it passes from step to step with all data about the user.
    final class Decided: Sendable {
        let record: InboxRecord
        let routes: [Route]
        fileprivate let recipient: Recipient
        /// The type by which the rules decided; `nil` if the catalogue no longer contains it, so that nothing is sent.
        fileprivate let type: CatalogType?

        fileprivate init(_ record: InboxRecord, routes: [Route], _ recipient: Recipient, _ type: CatalogType?) {
            self.record = record
            self.routes = routes
            self.recipient = recipient
            self.type = type
        }
    }

    /// The channel through which a notification is sent immediately.
    enum Route: Sendable {
        case push(Device)
        case mail
    }

    /// Decides about new notifications of users who were looked up.
    ///
    /// A user who is named twice has one more unread notification when the second one arrives, although neither is
    /// written yet.
    func decide(
        _ entries: some Collection<Entry<InboxRecord>>,
        for recipients: [UserKey: Recipient],
        after recent: RecentPushes = RecentPushes()
    ) -> Decisions {
        var recipients = recipients
        var recent = recent
        var translations = Translations(catalogs)
        var decisions = Decisions()
        decisions.decided.reserveCapacity(entries.count)
        for entry in entries {
            var record = entry.work
            var recipient = Recipient()
            if let place = recipients.index(forKey: record.key.recipient) {
                if let unread = recipients.values[place].unread { recipients.values[place].unread = unread + 1 }
                recipient = recipients.values[place]
                record.key.recipient = recipients.keys[place]
            }
            record.words = translations.words(record.words, for: recipient)
            switch decide(record, for: recipient, &recent) {
            case .success(let decided): decisions.decided.append(Entry(index: entry.index, work: decided))
            case .failure(let nowhere): decisions.nowhere.append((record.app, nowhere.reason))
            }
        }
        return decisions
    }

    /// The reason why a notification is not stored.
    private struct NotRecorded: Error {
        let reason: SuppressionReason
    }

    private func decide(
        _ record: InboxRecord,
        for recipient: Recipient,
        _ recent: inout RecentPushes
    ) -> Result<Decided, NotRecorded> {
        var record = record
        var routes: [Route] = []
        let content = record.words.content
        guard let catalog = catalogs[record.app], let type = catalog[content.type] else {
            record.deliveries = [.suppressed(.unknownType)]
            return .success(Decided(record, routes: routes, recipient, nil))
        }
        let follow = record.follow?.facts(for: record.key.recipient, with: recipient.devices)
        var facts = facts(content, catalog, type, recipient, follow)
        facts.history.recent = recent.facts(of: record, catalogs)
        let decision = Decision(facts)
        recent.note(decision, of: record, catalogs, at: now)
        if let reason = decision.absence { return .failure(NotRecorded(reason: reason)) }
        if let outcome = decision.push {
            record.deliveries.append(line(outcome, to: NewDelivery.nobody))
        }
        // A mail that is not sent has no row, because most users have no address; `explain` shows the rules' result.
        if decision.email == .send, senders.mails(record.app), recipient.email != nil {
            record.deliveries.append(.sending(to: NewDelivery.mailbox, by: .email))
            routes.append(.mail)
        }
        for ruling in decision.devices {
            let target = ruling.device.subscription
            if case .send = ruling.outcome, !senders.serves(record.app, ruling.device.provider) {
                record.deliveries.append(.suppressed(.noProvider, target: target))
                continue
            }
            record.deliveries.append(line(ruling.outcome, to: target))
            if case .send = ruling.outcome { routes.append(.push(ruling.device)) }
        }
        return .success(Decided(record, routes: routes, recipient, type))
    }

    /// Adds the shipments of a notification that is recorded and therefore claimed.
    func addShipments(of entry: Entry<Decided>, under lease: Lease, to shipments: inout [OutgoingDelivery]) {
        let decided = entry.work
        let (key, content) = (decided.record.key, decided.record.words.content)
        guard let type = decided.type else { return }
        for route in decided.routes {
            let (line, payload): (DeliveryKey, Payload)
            switch route {
            case .push(let device):
                line = DeliveryKey(notification: key, channel: .push, target: device.subscription)
                payload = .push(PushMessage(key, content, type, to: device, unread: decided.recipient.unread))
            case .mail:
                guard let catalog = catalogs[key.recipient.app],
                    let mail = EmailMessage(key, content, decided.recipient, catalog)
                else { continue }
                line = DeliveryKey(notification: key, channel: .email, target: NewDelivery.mailbox)
                payload = .mail(mail)
            }
            shipments.append(
                OutgoingDelivery(
                    index: entry.index,
                    key: line,
                    content: content,
                    type: type,
                    payload: payload,
                    lease: lease
                )
            )
        }
    }

    /// Whether a push of this type carries the number of unread notifications.
    func showsNumber(_ app: AppID, _ type: EventType) -> Bool {
        catalogs[app]?[type]?.setsBadge ?? false
    }

    /// Returns the facts for a decision.
    ///
    /// For a notification of a topic, a user is a follower only if a row exists.
    func facts(
        _ content: NotificationContent,
        _ catalog: Catalog,
        _ type: CatalogType,
        _ recipient: Recipient,
        _ follow: DecisionFacts.Follow?
    ) -> DecisionFacts {
        var facts = DecisionFacts(catalog: catalog, type: type, recipient: recipient, now: now) { zones[$0] }
        facts.expiresAt = content.extras.expiresAt
        facts.isNeverMailed = content.extras.isNeverMailed
        if content.extras.topic != nil { facts.follow = follow ?? .ended }
        return facts
    }

    private func line(_ outcome: Outcome, to target: String) -> NewDelivery {
        switch outcome {
        case .send: .sending(to: target)
        case .wait(let wait): .deferred(to: target, wait)
        case .drop: .suppressed(.quietHours, target: target)
        case .suppress(let reason): .suppressed(reason, target: target)
        case .expire: .expired(target: target)
        }
    }
}
