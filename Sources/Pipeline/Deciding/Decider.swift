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
        /// The contents of the deliveries to send, which are made with the decision and wait for the record.
        fileprivate let payloads: [Payload]
        /// Whether a delivery waits for the end of the user's pause.
        let waitsForPause: Bool

        fileprivate init(
            _ record: InboxRecord,
            _ payloads: [Payload],
            waitsForPause: Bool
        ) {
            self.record = record
            self.payloads = payloads
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
        var translations = Translations()
        var decisions = Decisions()
        decisions.decided.reserveCapacity(entries.count)
        for entry in entries {
            let record = entry.work
            let place = recipients.index(forKey: record.key.recipient)
            let recipient = place.map { recipients.values[$0] } ?? Recipient()
            let key = place.map { recipients.keys[$0] } ?? record.key.recipient
            let words = translations.words(record.words, for: recipient)
            let draft = Draft(record: record, recipient: key, words: words)
            let unread = decide(draft, at: entry.index, for: recipient, &recent, &decisions)
            if let place, let unread { recipients.values[place].unread = unread }
        }
        return decisions
    }

    /// A notification before the decision about it.
    private struct Draft {
        let record: InboxRecord
        /// The user as found in the database.
        let recipient: UserKey
        /// The text in the user's language.
        let words: NotificationText

        func recorded(_ deliveries: [NewDelivery]) -> InboxRecord {
            InboxRecord(record, of: recipient, words: words, deliveries: deliveries)
        }
    }

    /// Decides about one notification, and returns the user's number of unread notifications afterwards.
    private func decide(
        _ draft: Draft,
        at index: Int,
        for recipient: Recipient,
        _ recent: inout RecentPushes,
        _ decisions: inout Decisions
    ) -> Int? {
        let (record, words) = (draft.record, draft.words)
        let type = words.type
        let follow = record.follow?.facts(for: draft.recipient, with: recipient.devices)
        let facts = facts(words.content, words.catalog, type, recipient, follow, after: recent.facts(of: record))
        let decision = Decision(facts)
        recent.note(decision, of: record, at: now)
        if let reason = decision.absence {
            decisions.nowhere.append((record.app, reason))
            return recipient.unread
        }
        // As in the database, a notification counts only if the type sets the badge and its push was not suppressed.
        let counts = type.setsBadge && decision.push == nil
        let unread = recipient.unread.map { counts ? $0 + 1 : $0 }
        var deliveries: [NewDelivery] = []
        var payloads: [Payload] = []
        let key = NotificationKey(recipient: draft.recipient, notification: record.id)
        func add(_ ruling: DeliveryRuling, to target: String) {
            deliveries.append(NewDelivery(ruling, to: target))
            guard case .send(let route) = ruling else { return }
            payloads.append(Payload(route, key, words.content, type, unread: unread))
        }
        if let outcome = decision.push { add(ruling(outcome, to: nil, of: record.app), to: NewDelivery.nobody) }
        // A mail that is not sent has no row, because most users have no address; `explain` shows the rules' result.
        let mail = mailRuling(decision.email, facts)
        if case .send = mail { add(mail, to: NewDelivery.mailbox) }
        var waitsForPause = false
        // A loop over the elements would copy each of them.
        for place in decision.devices.indices {
            let (device, outcome) = (decision.devices[place].device, decision.devices[place].outcome)
            add(ruling(outcome, to: device, of: record.app), to: device.subscription)
            if case .wait(let wait) = outcome, wait.reason == .paused { waitsForPause = true }
        }
        let decided = Decided(draft.recorded(deliveries), payloads, waitsForPause: waitsForPause)
        decisions.decided.append(Entry(index: index, work: decided))
        return unread
    }

    /// Adds the shipments of a notification that is recorded and therefore claimed.
    func addShipments(of entry: Entry<Decided>, under lease: Lease, to shipments: inout [OutgoingDelivery]) {
        let decided = entry.work
        let (key, words) = (decided.record.key, decided.record.words)
        let (content, type) = (words.content, words.type)
        for payload in decided.payloads {
            shipments.append(
                OutgoingDelivery(
                    index: entry.index,
                    key: DeliveryKey(key, payload),
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
        _ follow: DecisionFacts.Follow?,
        after recent: DecisionFacts.RecentPushes = DecisionFacts.RecentPushes()
    ) -> DecisionFacts {
        var facts = DecisionFacts(catalog: catalog, type: type, recipient: recipient, now: now) { [zones] in zones[$0] }
        facts.history.recent = recent
        facts.expiresAt = content.expiresAt
        facts.isNeverMailed = content.isNeverMailed
        if content.topic != nil { facts.follow = follow ?? .ended }
        return facts
    }
}
