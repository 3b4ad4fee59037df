import BellhopRules
import Push
import Settings
import Store

/// Applies the rules to notifications, with the configured providers.
struct Decider: Sendable {
    let catalogs: CatalogSet
    /// The outlets that are configured.
    let outlets: Set<OutletKey>
    let zones: ZoneLibrary
    let now: Timestamp

    /// Returns the same decider at another instant, because the look-ups for a decision may have taken long.
    func at(_ now: Timestamp) -> Decider {
        Decider(catalogs: catalogs, outlets: outlets, zones: zones, now: now)
    }

    /// The decisions about the new notifications of some messages.
    struct Decisions: Sendable {
        /// The notifications to record, each with its first rows in the ledger.
        var decided: [Entry<Decided>] = []
        /// The apps and reasons of notifications that are not stored at all.
        var nowhere: [(app: AppID, reason: SuppressionReason)] = []
    }

    /// A notification that is about to be recorded, with the routes of the deliveries to send afterwards.
    ///
    /// It is an object because it passes from step to step with all data for its pushes.
    final class Decided: Sendable {
        let record: InboxRecord
        fileprivate let routes: [DeliveryRuling.Route]
        /// The type by which the rules decided; `nil` if the catalogue no longer contains it, so that nothing is sent.
        fileprivate let type: CatalogType?
        fileprivate let unread: Int?
        /// Whether a delivery waits for the end of the user's pause.
        let waitsForPause: Bool

        fileprivate init(
            _ record: InboxRecord,
            _ routes: [DeliveryRuling.Route],
            _ type: CatalogType?,
            unread: Int?,
            waitsForPause: Bool = false
        ) {
            self.record = record
            self.routes = routes
            self.type = type
            self.unread = unread
            self.waitsForPause = waitsForPause
        }
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
            let place = recipients.index(forKey: record.key.recipient)
            if let place {
                recipient = recipients.values[place]
                record.key.recipient = recipients.keys[place]
            }
            record.words = translations.words(record.words, for: recipient)
            let unread = decide(record, at: entry.index, for: recipient, &recent, &decisions)
            if let place, let unread { recipients.values[place].unread = unread }
        }
        return decisions
    }

    /// Decides about one notification, and returns the user's number of unread notifications afterwards.
    private func decide(
        _ record: InboxRecord,
        at index: Int,
        for recipient: Recipient,
        _ recent: inout RecentPushes,
        _ decisions: inout Decisions
    ) -> Int? {
        var record = record
        var routes: [DeliveryRuling.Route] = []
        let content = record.words.content
        guard let catalog = catalogs[record.app], let type = catalog[content.type] else {
            record.deliveries = [.suppressed(.unknownType)]
            let decided = Decided(record, routes, nil, unread: nil)
            decisions.decided.append(Entry(index: index, work: decided))
            return recipient.unread
        }
        let follow = record.follow?.facts(for: record.key.recipient, with: recipient.devices)
        var facts = facts(content, catalog, type, recipient, follow)
        facts.history.recent = recent.facts(of: record, catalogs)
        let decision = Decision(facts)
        recent.note(decision, of: record, catalogs, at: now)
        if let reason = decision.absence {
            decisions.nowhere.append((record.app, reason))
            return recipient.unread
        }
        // As in the database, a notification counts only if the type sets the badge and its push was not suppressed.
        let counts = type.setsBadge && decision.push == nil
        let unread = recipient.unread.map { counts ? $0 + 1 : $0 }
        func add(_ ruling: DeliveryRuling, to target: String) {
            record.deliveries.append(NewDelivery(ruling, to: target))
            if case .send(let route) = ruling { routes.append(route) }
        }
        if let outcome = decision.push { add(ruling(outcome, to: nil, of: record.app), to: NewDelivery.nobody) }
        // A mail that is not sent has no row, because most users have no address; `explain` shows the rules' result.
        let mail = mailRuling(decision.email, facts)
        if case .send = mail { add(mail, to: NewDelivery.mailbox) }
        var waitsForPause = false
        for device in decision.devices {
            add(ruling(device.outcome, to: device.device, of: record.app), to: device.device.subscription)
            if case .wait(let wait) = device.outcome, wait.reason == .paused { waitsForPause = true }
        }
        let decided = Decided(record, routes, type, unread: unread, waitsForPause: waitsForPause)
        decisions.decided.append(Entry(index: index, work: decided))
        return unread
    }

    /// Adds the shipments of a notification that is recorded and therefore claimed.
    func addShipments(of entry: Entry<Decided>, under lease: Lease, to shipments: inout [OutgoingDelivery]) {
        let decided = entry.work
        let (key, content) = (decided.record.key, decided.record.words.content)
        guard let type = decided.type else { return }
        for route in decided.routes {
            shipments.append(
                OutgoingDelivery(
                    index: entry.index,
                    key: DeliveryKey(key, route),
                    content: content,
                    type: type,
                    payload: Payload(route, key, content, type, unread: decided.unread),
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
}
