import BellhopRules
import ServiceRuntime
import Store

/// Resumes notifications with open deliveries: after a retry tier, a release, a second copy of an event, or a wait for
/// their outlet.
struct ResumeStage: Sendable {
    let store: any WorkerDatabase
    let ladder: RetryLadder
    let time: any TimeSource
    let holds: ActiveHolds

    /// Divides entries into parts that one statement may claim.
    ///
    /// A user's notifications stay in one part as far as possible, because a digest may be among them. A message names
    /// up to a thousand notifications, and a batch has hundreds of messages.
    ///
    /// `each` reduces the size of the parts if contents are large.
    static func parts(of entries: [Entry<NotificationKey>], each: Int = keysPerPart) -> [[Entry<NotificationKey>]] {
        let keysPerPart = min(max(1, each), keysPerPart)
        guard entries.count > keysPerPart else { return entries.isEmpty ? [] : [entries] }
        var parts: [[Entry<NotificationKey>]] = [[]]
        for (_, group) in Dictionary(grouping: entries, by: \.work.recipient) {
            for start in stride(from: 0, to: group.count, by: keysPerPart) {
                let piece = group[start..<min(start + keysPerPart, group.count)]
                if let last = parts.last, !last.isEmpty, last.count + piece.count > keysPerPart { parts.append([]) }
                parts[parts.count - 1] += piece
            }
        }
        return parts
    }

    static let keysPerPart = 1024

    /// Claims notifications and decides them again.
    ///
    /// If a drain comes first, the messages are given up.
    ///
    /// Each notification comes with the position of the message that named it. `replacements` are the positions of the
    /// messages that may be the only remaining ones for their notifications.
    func take(
        _ entries: [Entry<NotificationKey>],
        _ replacements: Set<Int>,
        _ decider: Decider,
        _ batch: Batch
    ) async -> PendingWork {
        guard !entries.isEmpty else { return PendingWork() }
        let indices = Dictionary(entries.map { ($0.work, $0.index) }, uniquingKeysWith: { first, _ in first })
        let lease = Lease()
        guard let (harvest, unclaimed) = await claim(Array(indices.keys), under: lease, batch),
            let decided = await decide(harvest.claimed, under: lease, decider, batch, at: { indices[$0] ?? 0 })
        else {
            batch.messages.giveUp(entries.map(\.index))
            return PendingWork()
        }
        for (key, why) in unclaimed {
            batch.messages.giveUp(entries.filter { $0.work == key }.map(\.index), because: why)
        }
        var work = decided.work
        // Their claims end now: after a lease, it would be unknown whether they were sent.
        work.withheld += putOff(harvest.claimed, decided.stuck, in: batch, "notifications") { indices[$0] ?? 0 }
        // A message that was given up is redelivered with all of its notifications.
        let open = Set(entries.lazy.filter { !batch.messages.isGivenUp($0.index) }.map(\.work))
        let replaced = Set(entries.lazy.filter { replacements.contains($0.index) }.map(\.work))
        work.later = later(harvest, replaced: replaced).mapValues { $0.filter(open.contains) }
        let waiting = Set(work.later.values.joined())
        work.waiting = Array(Set(entries.filter { waiting.contains($0.work) }.map(\.index)))
        return work
    }

    /// Decides claimed deliveries again; `nil` if a drain came before the look-up.
    ///
    /// It also returns the notifications that fail individually in the database, with the reasons, and leaves their
    /// deliveries out. `index` returns the position of the message that named a notification.
    func decide(
        _ claimed: [ClaimedDelivery],
        under lease: Lease,
        _ decider: Decider,
        _ batch: Batch,
        at index: (NotificationKey) -> Int = { _ in 0 }
    ) async -> (work: PendingWork, stuck: [NotificationKey: String])? {
        guard let found = await lookUp(claimed, decider, batch) else { return nil }
        let decider = decider.at(time.timestamp)
        var work = PendingWork()
        work.footprint = found.notifications.values.reduce(0) { $0 + $1.content.texts.byteCount }
        var digests = DigestBuilder()
        for claimed in claimed where found.stuck[claimed.key.notification] == nil {
            let key = claimed.key.notification
            let returned = Decider.ResumedDelivery(
                claimed: claimed,
                stored: found.notifications[key],
                recipient: found.recipients[key.recipient] ?? Recipient(),
                follow: found.follow(of: key),
                index: index(key),
                lease: lease
            )
            let resumed = decider.resume(returned)
            if let shipment = resumed.shipment, let stored = returned.stored,
                holds.isDiscarded(shipment, recordedAt: stored.createdAt)
            {
                work.withheld.append(.discarded(shipment))
                continue
            }
            switch resumed {
            case .send(let shipment): if !putAside(shipment, batch, &work) { work.shipments.append(shipment) }
            case .gather(let push): if !putAside(push.shipment, batch, &work) { digests.add(push) }
            case .withheld(let disposition): work.withheld.append(disposition)
            }
        }
        work.shipments += digests.shipments(decider.catalogs) { found.recipients[$0]?.locale }
        return (work, found.stuck)
    }

    /// Defers the claimed deliveries of notifications that fail individually in the database for a minute.
    ///
    /// Their resumes arrive as messages, which are set aside if the database continues to fail on the claim.
    func putOff(
        _ claimed: [ClaimedDelivery],
        _ stuck: [NotificationKey: String],
        in batch: Batch,
        _ source: String,
        at index: (NotificationKey) -> Int = { _ in 0 }
    ) -> [Disposition] {
        guard let why = stuck.first?.value else { return [] }
        let lines = claimed.filter { stuck[$0.key.notification] != nil }
        batch.persistence.context.logger.warning(
            "the database fails on deliveries alone, deferring them for a minute",
            ["from": .text(source), "count": .integer(lines.count), "error": .text(why)]
        )
        return lines.map { .putOff($0.key, because: .lookUpFailed, index: index($0.key.notification)) }
    }

    /// Puts a delivery under an operator's hold aside.
    ///
    /// It does so separately for each one, so that no digest includes a held delivery and no probe is spent on it.
    private func putAside(_ shipment: OutgoingDelivery, _ batch: Batch, _ work: inout PendingWork) -> Bool {
        guard let obstacle = holds.obstacle(at: shipment.outlet, to: shipment) else { return false }
        work.withheld += shipment.put(behind: obstacle, from: batch.lane)
        return true
    }

    private struct Found: Sendable {
        var notifications: [NotificationKey: StoredNotification] = [:]
        var recipients: [UserKey: Recipient] = [:]
        var follows: [FollowKey: StoredFollow] = [:]
        /// Notifications that fail individually in the database, with the reasons.
        var stuck: [NotificationKey: String] = [:]

        func follow(of key: NotificationKey) -> StoredFollow? {
            notifications[key]?.content.topic.flatMap { follows[FollowKey(key.recipient, $0)] }
        }
    }

    /// Claims deliveries and returns the keys that fail individually in the database; `nil` if a drain came first.
    private func claim(
        _ keys: [NotificationKey],
        under lease: Lease,
        _ batch: Batch
    ) async -> (harvest: ClaimResult, stuck: [(item: NotificationKey, why: String)])? {
        let answers = await batch.persistence.ask(keys) { [store, time] keys throws(StoreError) in
            let start = time.steady()
            let harvest = try await store.claim(keys, as: batch.claim)
            lease.begin(at: start)
            return harvest
        }
        guard let answers else { return nil }
        return (answers.values.reduce(into: ClaimResult()) { $0 += $1 }, answers.unanswered)
    }

    /// Looks up the notifications and users of claimed deliveries; `nil` if a drain came first.
    ///
    /// Contents are read in steps, because their sizes are unknown.
    private func lookUp(_ claimed: [ClaimedDelivery], _ decider: Decider, _ batch: Batch) async -> Found? {
        let keys = Array(Set(claimed.map(\.key.notification)))
        var found = Found()
        for start in stride(from: 0, to: keys.count, by: Self.contentsPerStatement) {
            let part = Array(keys[start..<min(start + Self.contentsPerStatement, keys.count)])
            let contents = await batch.persistence.ask(part) { [store] keys throws(StoreError) in
                try await store.notifications(keys)
            }
            guard let contents else { return nil }
            for content in contents.values { found.notifications.merge(content) { first, _ in first } }
            for (key, why) in contents.unanswered { found.stuck[key] = why }
        }
        let users = await batch.persistence.ask(Array(Set(keys.map(\.recipient)))) {
            [store] keys throws(StoreError) in
            try await store.recipients(of: keys)
        }
        guard let users else { return nil }
        for people in users.values { found.recipients.merge(people) { first, _ in first } }
        for (user, why) in users.unanswered {
            for key in keys where key.recipient == user { found.stuck[key] = why }
        }
        let counted = found.notifications.filter { decider.showsNumber($0.key.recipient.app, $0.value.content.type) }
        let unread = UnreadLookUp(store: store, catalogs: decider.catalogs)
        await unread.add(to: &found.recipients, of: Set(counted.keys.map(\.recipient)), batch)
        return await addFollows(to: found, batch)
    }

    private func addFollows(to found: Found, _ batch: Batch) async -> Found? {
        let followed = found.notifications.follows
        guard !followed.isEmpty else { return found }
        let follows = await batch.persistence.ask(Array(followed)) { [store] keys throws(StoreError) in
            try await store.follows(Set(keys))
        }
        guard let follows else { return nil }
        var found = found
        for part in follows.values { found.follows.merge(part) { first, _ in first } }
        for (follow, why) in follows.unanswered {
            for key in found.notifications.keys where key.recipient == follow.recipient { found.stuck[key] = why }
        }
        return found
    }

    private static let contentsPerStatement = 256

    /// Returns the resumes for notifications that are not available now, with the tiers that fit.
    ///
    /// A delivery in a retry tier already has a resume, published at its settlement. Only a replacement also waits for
    /// the delivery, because the settling worker may have died before it published the resume. Each message leaves at
    /// most one other, so they do not multiply, and they end with the delivery.
    private func later(
        _ harvest: ClaimResult,
        replaced: Set<NotificationKey>
    ) -> [ResumeSender.Route: [NotificationKey]] {
        var waits = harvest.leased
        waits.merge(harvest.locked.map { ($0, .zero) }, uniquingKeysWith: min)
        waits.merge(harvest.retrying.filter { replaced.contains($0.key) }, uniquingKeysWith: min)
        var later: [ResumeSender.Route: [NotificationKey]] = [:]
        for (key, wait) in waits {
            let route: ResumeSender.Route =
                switch ladder.tier(lasting: wait) ?? ladder.longest {
                case nil: .atOnce
                case let tier?: replaced.contains(key) ? .replacement(after: tier) : .after(tier)
                }
            later[route, default: []].append(key)
        }
        return later
    }
}
