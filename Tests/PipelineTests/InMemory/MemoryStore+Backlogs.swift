import BellhopRules

@testable import Pipeline
@testable import Postgres
@testable import Store

/// Deliveries that wait for their outlet.
extension MemoryStore {
    func heads(_ looks: [BacklogPoll]) async throws(PostgresError) -> OldestEntries {
        let now = clock
        return try answering { state in
            OldestEntries(oldest: looks.map { state.waiting(at: $0).first?.turn }, now: now)
        }
    }

    func scout(
        _ look: BacklogPoll,
        as claim: Claim,
        of users: UserFilter
    ) async throws(PostgresError) -> PullResult {
        try await pull(look, atMost: 1, as: claim, of: users)
    }

    func head(
        _ look: BacklogPoll,
        atMost count: Int,
        of users: UserFilter
    ) async throws(PostgresError) -> QueueHead { QueueHead(users: [], until: clock) }

    func pull(
        _ look: BacklogPoll,
        atMost count: Int,
        as claim: Claim,
        of users: UserFilter
    ) async throws(PostgresError) -> PullResult {
        let (now, ends) = (clock, time.steady() + lease)
        return try answering { (state) throws(PostgresError) in
            let chosen = state.waiting(at: look).prefix(count)
            let keys = chosen.flatMap { state.together(with: $0.key) }
            var claimed: [ClaimedDelivery] = []
            for key in keys {
                guard let line = state.lines[key], let backlog = line.backlog else { continue }
                state.lines[key]?.take(claim, at: now, until: ends)
                claimed.append(
                    ClaimedDelivery(
                        key: key,
                        attempts: line.attempts,
                        outcomeWasUnknown: line.outcomeIsUnknown,
                        digest: line.digest,
                        queuedAt: backlog.queuedAt
                    )
                )
            }
            guard !state.losesPull else {
                state.losesPull = false
                throw PostgresError(.outcomeUnknown, "lost")
            }
            return .lines(claimed)
        }
    }

    func regain(_ backlog: BacklogKey, as claim: Claim) async throws(PostgresError) -> PullResult {
        try answering { state in
            .lines(
                state.lines.filter { $1.claim == claim && $1.state == .sending }.map { key, line in
                    ClaimedDelivery(
                        key: key,
                        attempts: line.attempts,
                        outcomeWasUnknown: line.outcomeIsUnknown,
                        digest: line.digest
                    )
                }
            )
        }
    }

    func backlogNames() async throws(PostgresError) -> [String] { [] }
    func release(_ backlog: String, atMost limit: Int, after age: Duration) async throws(PostgresError) -> Int { 0 }
}

extension MemoryStore.State {
    /// Returns the deliveries that wait there, in order.
    fileprivate func waiting(at look: BacklogPoll) -> [(key: DeliveryKey, turn: Timestamp)] {
        var waiting: [(key: DeliveryKey, turn: Timestamp)] = []
        for (key, line) in lines where line.priority == look.place.priority {
            guard let backlog = line.backlog, backlog.key == look.place.key else { continue }
            if look.since.map({ backlog.queuedAt >= $0 }) ?? true { waiting.append((key, backlog.queuedAt)) }
        }
        return waiting.sorted { ($0.turn, $0.key.target) < ($1.turn, $1.key.target) }
    }

    /// Returns the deliveries of the same digest, or only this one.
    fileprivate func together(with key: DeliveryKey) -> [DeliveryKey] {
        guard let line = lines[key], let digest = line.digest else { return [key] }
        return lines.filter { other, candidate in
            candidate.digest == digest && candidate.backlog?.key == line.backlog?.key && other.target == key.target
                && other.notification.recipient == key.notification.recipient
        }.map(\.key)
    }
}
