import BellhopRules
import Postgres
import ServiceRuntime
import Store

/// Takes notifications up again that are owed something: after a retry tier, a hand-over, or a second copy of an event.
struct Resumption: Sendable {
    let ledger: Ledger
    let inbox: Inbox
    let directory: RecipientDirectory
    let ladder: RetryLadder

    /// What there is to do for notifications that came back.
    struct Work: Sendable {
        var parcels: [Parcel] = []
        /// Bytes of what the notifications say.
        var footprint = 0
        /// Claimed, and not to be sent any more.
        var withheld: [DeliveryOutcome] = []
        /// In the hands of another, or locked: looked at again when the lease has ended, or soon.
        var later: [ResumeSender.Way: [NotificationKey]] = [:]
    }

    /// Claims and decides anew; nil where a drain came first.
    ///
    /// Each notification comes with the position of the message that named it; `heirs` are the positions of those
    /// messages that may be the only ones left to bring what they name.
    func take(
        _ entries: [SortedBatch.Entry<NotificationKey>],
        heirs: Set<Int>,
        claim: Claim,
        decider: Decider,
        persistence: Persistence
    ) async -> Work? {
        guard !entries.isEmpty else { return Work() }
        let indices = Dictionary(entries.map { ($0.work, $0.index) }, uniquingKeysWith: { first, _ in first })
        let inherited = Set(entries.lazy.filter { heirs.contains($0.index) }.map(\.work))
        let lease = Lease()
        let found = await persistence.insist { [ledger, inbox, directory] () throws(PostgresError) in
            let start = ContinuousClock.now
            let harvest = try await ledger.claim(Array(indices.keys), as: claim)
            lease.begin(at: start)
            let keys = Set(harvest.claimed.map(\.key.notification))
            return Found(
                harvest: harvest,
                notifications: try await inbox.notifications(Array(keys)),
                recipients: try await directory.recipients(of: Set(keys.map(\.recipient)))
            )
        }
        guard let found else { return nil }
        var work = Work()
        work.footprint = found.notifications.values.reduce(0) { $0 + $1.content.footprint }
        var digests = DigestGathering()
        var decider = decider
        decider.lease = lease
        for claimed in found.harvest.claimed {
            let key = claimed.key.notification
            let resumed = decider.resume(
                claimed,
                of: found.notifications[key],
                for: found.recipients[key.recipient] ?? Recipient(),
                index: indices[key] ?? 0
            )
            switch resumed {
            case .send(let parcel): work.parcels.append(parcel)
            case .gather(let push): digests.add(push)
            case .withheld(let outcome): work.withheld.append(outcome)
            }
        }
        work.parcels += digests.parcels(decider.catalogs) { found.recipients[$0]?.locale }
        work.later = later(found.harvest, inherited: inherited)
        return work
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

    private struct Found: Sendable {
        let harvest: Ledger.Harvest
        let notifications: [NotificationKey: StoredNotification]
        let recipients: [RecipientKey: Recipient]
    }
}
