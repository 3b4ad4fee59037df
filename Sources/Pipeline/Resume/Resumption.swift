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
        /// In the hands of another: looked at again when the lease has ended.
        var later: [ResumeSender.Way: [NotificationKey]] = [:]
    }

    /// Claims and decides anew; nil where a drain came first.
    ///
    /// Each notification comes with the position of the message that named it.
    func take(
        _ entries: [SortedBatch.Entry<NotificationKey>],
        claim: Claim,
        decider: Decider,
        persistence: Persistence
    ) async -> Work? {
        guard !entries.isEmpty else { return Work() }
        let indices = Dictionary(entries.map { ($0.work, $0.index) }, uniquingKeysWith: { first, _ in first })
        let found = await persistence.insist { [ledger, inbox, directory] () throws(PostgresError) in
            let harvest = try await ledger.claim(Array(indices.keys), as: claim)
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
        for (key, wait) in found.harvest.leased {
            let way = ladder.tier(lasting: wait) ?? ladder.longest
            work.later[way.map { .after($0) } ?? .atOnce, default: []].append(key)
        }
        return work
    }

    private struct Found: Sendable {
        let harvest: Ledger.Harvest
        let notifications: [NotificationKey: StoredNotification]
        let recipients: [RecipientKey: Recipient]
    }
}
