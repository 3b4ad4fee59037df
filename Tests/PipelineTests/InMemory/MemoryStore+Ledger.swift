import BellhopRules

@testable import Pipeline
@testable import Postgres
@testable import Store

/// The ledger.
extension MemoryStore {
    func claim(_ keys: [NotificationKey], as claim: Claim) async throws(PostgresError) -> ClaimResult {
        let now = time.steady()
        let claimedAt = clock
        let wanted = Set(keys)
        return try answering { (state) throws(PostgresError) in
            try state.read(keys.map(\.recipient.user))
            state.claimSizes.append(keys.count)
            var harvest = ClaimResult()
            for (key, line) in state.lines where wanted.contains(key.notification) && line.backlog == nil {
                let isOwn = line.claim == claim
                let wait = (line.dueAt ?? now) - now
                switch line.state {
                case .sending where line.leaseEnds > now && !isOwn:
                    let left = line.leaseEnds - now
                    harvest.leased[key.notification] = max(left, harvest.leased[key.notification] ?? left)
                    continue
                case .retrying where wait > .seconds(1):
                    harvest.retrying[key.notification] = min(wait, harvest.retrying[key.notification] ?? wait)
                    continue
                case .deferred where wait > .seconds(1): continue
                case .sending, .retrying, .deferred, .pending: break
                case .accepted, .delivered, .suppressed, .expired, .failed, .unknown: continue
                }
                if line.state == .sending, !isOwn { state.lines[key]?.outcomeIsUnknown = true }
                harvest.claimed.append(
                    ClaimedDelivery(
                        key: key,
                        attempts: line.attempts,
                        outcomeWasUnknown: line.outcomeIsUnknown || (line.state == .sending && !isOwn),
                        digest: line.digest
                    )
                )
                state.lines[key]?.take(claim, at: claimedAt, until: now + lease)
            }
            return harvest
        }
    }

    func settle(_ settlements: [Settlement], of claim: Claim) async throws(PostgresError) -> Int {
        let now = time.steady()
        let settledAt = clock
        return try answering { (state) throws(PostgresError) in
            let users = Set(settlements.map(\.key.notification.recipient.user))
            try state.read(Array(users))
            for user in users {
                guard let left = state.unsettledToCome[user], left > 0 else { continue }
                state.unsettledToCome[user] = left - 1
                throw State.brokenPage
            }
            return settlements.count { settlement in
                guard var line = state.lines[settlement.key], line.claim == claim,
                    line.state == .sending || line.state == .accepted
                else { return false }
                line.settle(settlement, at: settledAt, now)
                state.lines[settlement.key] = line
                return true
            }
        }
    }

    func leaveToSweeper(_ keys: [NotificationKey]) async throws(PostgresError) -> Set<NotificationKey> {
        let wanted = Set(keys)
        return try answering { state in
            for (key, line) in state.lines where wanted.contains(key.notification) && line.backlog == nil {
                if line.state == .retrying { state.lines[key]?.state = .deferred }
                if line.state == .sending { state.lines[key]?.dueAt = line.dueAt ?? line.leaseEnds }
            }
            return []
        }
    }

    func claimReceipts(_ keys: [DeliveryKey], as claim: Claim) async throws(PostgresError) -> [OpenReceipt] {
        let now = clock
        return try answering { state in
            keys.compactMap { key in
                guard let line = state.lines[key], line.state == .accepted, let ticket = line.providerMessageID,
                    let sentAt = line.sentAt
                else { return nil }
                state.lines[key]?.claim = claim
                let content = state.records[key.notification]?.words.content
                return OpenReceipt(
                    key: key,
                    ticket: ticket,
                    attempts: line.attempts,
                    sentAt: sentAt,
                    age: .microseconds(now.microseconds - sentAt.microseconds),
                    priority: line.priority,
                    origin: content.map { OpenReceipt.Origin(event: $0.event, type: $0.type) },
                    token: state.people[key.notification.recipient]?.devices
                        .first { $0.subscription == key.target }?.token
                )
            }
        }
    }
}

extension MemoryStore.Line {
    mutating func take(_ claim: Claim, at now: Timestamp, until end: ContinuousClock.Instant) {
        state = .sending
        self.claim = claim
        leaseEnds = end
        updatedAt = now
        dueAt = nil
        backlog = nil
        versions += 1
    }

    fileprivate mutating func settle(_ settlement: Settlement, at now: Timestamp, _ steady: ContinuousClock.Instant) {
        state = settlement.state
        reason = settlement.reason
        attempts += settlement.burnsAttempt ? 1 : 0
        outcomeIsUnknown = outcomeIsUnknown || settlement.outcomeIsUnknown
        providerMessageID = settlement.providerMessageID ?? providerMessageID
        claim = nil
        dueAt = settlement.dueIn.map { steady + $0 }
        if let wait = settlement.wait { join(wait) }
        sentAt = settlement.state == .accepted ? settlement.sentAt ?? sentAt ?? now : nil
        backlog = settlement.backlog.map { ($0.place.key, $0.queuedAt ?? updatedAt) }
        priority = settlement.backlog?.place.priority ?? priority
        updatedAt = now
        versions += 1
    }
}
