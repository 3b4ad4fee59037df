import BellhopRules
import Postgres
import ServiceRuntime
import Store

/// Takes notifications up again that are owed something: after a retry tier, a hand-over, or a second copy of an event.
struct Resumption: Sendable {
    let store: any PipelineStore
    let ladder: RetryLadder
    let time: any TimeSource

    /// What there is to do for notifications that came back.
    struct Work: Sendable {
        var shipments: [Shipment] = []
        /// Bytes of what the notifications say.
        var footprint = 0
        /// Claimed, and not to be sent any more.
        var withheld: [Disposition] = []
        /// In the hands of another, or locked: looked at again when the lease has ended, or soon.
        var later: [ResumeSender.Way: [NotificationKey]] = [:]
        /// The positions of the messages that named those.
        var waiting: [Int] = []
    }

    /// Claims and decides anew; where a drain comes first, the messages are given up.
    ///
    /// Each notification comes with the position of the message that named it; `heirs` are the positions of those
    /// messages that may be the only ones left to bring what they name.
    func take(_ entries: [Entry<NotificationKey>], _ heirs: Set<Int>, _ decider: Decider, _ batch: Batch) async -> Work
    {
        var work = Work()
        guard !entries.isEmpty else { return work }
        let indices = Dictionary(entries.map { ($0.work, $0.index) }, uniquingKeysWith: { first, _ in first })
        let lease = Lease()
        guard let found = await find(Array(indices.keys), under: lease, decider, batch) else {
            batch.messages.giveUp(entries.map(\.index))
            return work
        }
        work.footprint = found.notifications.values.reduce(0) { $0 + $1.content.footprint }
        var digests = DigestGathering()
        for claimed in found.harvest.claimed {
            let key = claimed.key.notification
            let returned = Decider.Returned(
                claimed: claimed,
                stored: found.notifications[key],
                recipient: found.recipients[key.recipient] ?? Recipient(),
                index: indices[key] ?? 0,
                lease: lease
            )
            switch decider.resume(returned) {
            case .send(let shipment): work.shipments.append(shipment)
            case .gather(let push): digests.add(push)
            case .withheld(let disposition): work.withheld.append(disposition)
            }
        }
        work.shipments += digests.shipments(decider.catalogs) { found.recipients[$0]?.locale }
        work.later = later(found.harvest, inherited: Set(entries.lazy.filter { heirs.contains($0.index) }.map(\.work)))
        let waiting = Set(work.later.values.joined())
        work.waiting = Array(Set(entries.filter { waiting.contains($0.work) }.map(\.index)))
        return work
    }

    private struct Found: Sendable {
        let harvest: Ledger.Harvest
        let notifications: [NotificationKey: StoredNotification]
        let recipients: [RecipientKey: Recipient]
    }

    /// Claims, and looks up what was claimed; nil where a drain came first.
    private func find(
        _ keys: [NotificationKey],
        under lease: Lease,
        _ decider: Decider,
        _ batch: Batch
    ) async -> Found? {
        await batch.persistence.insist { [store, time] () throws(PostgresError) in
            let start = time.steady()
            let harvest = try await store.claim(keys, as: batch.claim)
            lease.begin(at: start)
            let claimed = Set(harvest.claimed.map(\.key.notification))
            let notifications = try await store.notifications(Array(claimed))
            let counted = notifications.filter { decider.showsNumber($0.key.recipient.app, $0.value.content.type) }
            let recipients = try await PeopleLookUp(store: store).find(
                Set(claimed.map(\.recipient)),
                counting: Set(counted.keys.map(\.recipient))
            )
            return Found(harvest: harvest, notifications: notifications, recipients: recipients)
        }
    }

    /// What is not to be had now comes back through the tier that fits.
    ///
    /// What waits in a retry tier has a resume of its own, published by whoever settled it. Only an heir goes on waiting
    /// for it too: nobody may have lived to publish that one. Each message leaves one other at most, so they do not
    /// multiply, and they end with the delivery.
    private func later(
        _ harvest: Ledger.Harvest,
        inherited: Set<NotificationKey>
    ) -> [ResumeSender.Way: [NotificationKey]] {
        var waits = harvest.leased
        waits.merge(harvest.locked.map { ($0, .zero) }, uniquingKeysWith: min)
        waits.merge(harvest.retrying.filter { inherited.contains($0.key) }, uniquingKeysWith: min)
        var later: [ResumeSender.Way: [NotificationKey]] = [:]
        for (key, wait) in waits {
            let way: ResumeSender.Way =
                switch ladder.tier(lasting: wait) ?? ladder.longest {
                case nil: .atOnce
                case let tier?: inherited.contains(key) ? .heir(after: tier) : .after(tier)
                }
            later[way, default: []].append(key)
        }
        return later
    }
}
