import BellhopRules

@testable import Pipeline
@testable import Postgres
@testable import Store

/// Deliveries that wait for their outlet.
extension MemoryStore {
    func heads(_ looks: [BacklogPoll]) async throws(PostgresError) -> OldestEntries {
        let now = clock
        return try answering { state in
            time.skip(state.pollTakes)
            if looks.allSatisfy({ $0.since == nil }) { state.wholePolls += 1 }
            return OldestEntries(oldest: looks.map { state.waiting(at: $0).first?.turn }, now: now)
        }
    }

    func head(
        _ look: BacklogPoll,
        atMost count: Int,
        of users: UserFilter
    ) async throws(PostgresError) -> QueueHead {
        try answering { state in
            let waiting = state.waiting(at: look, of: users).prefix(count)
            var numbers: [Int64] = []
            for number in waiting.compactMap({ state.numbers[$0.key.notification.recipient] })
            where !numbers.contains(number) {
                numbers.append(number)
            }
            return QueueHead(users: numbers, until: waiting.last?.turn ?? Timestamp(clamping: 0))
        }
    }

    /// Claims the first delivery, or the first to a reached device if there is one.
    func scout(
        _ look: BacklogPoll,
        as claim: Claim,
        of users: UserFilter
    ) async throws(PostgresError) -> PullResult {
        try pull(as: claim) { state in
            let waiting = state.waiting(at: look, of: users).map(\.key)
            return (waiting.first { state.wasReached($0) } ?? waiting.first).map { [$0] } ?? []
        }
    }

    func pull(
        _ look: BacklogPoll,
        atMost count: Int,
        as claim: Claim,
        of users: UserFilter
    ) async throws(PostgresError) -> PullResult {
        try pull(as: claim) { state in state.waiting(at: look, of: users).prefix(count).map(\.key) }
    }

    private func pull(
        as claim: Claim,
        _ choose: (State) -> [DeliveryKey]
    ) throws(PostgresError) -> PullResult {
        let (now, ends) = (clock, time.steady() + lease)
        return try answering { (state) throws(PostgresError) in
            var claimed: [ClaimedDelivery] = []
            for key in choose(state).flatMap({ state.together(with: $0) }) {
                guard let line = state.lines[key], let backlog = line.backlog else { continue }
                state.lines[key]?.take(claim, at: now, until: ends)
                claimed.append(line.claimed(key, queuedAt: backlog.queuedAt))
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
                state.lines.filter { $1.claim == claim && $1.state == .sending }.map { $1.claimed($0, queuedAt: nil) }
            )
        }
    }

    func backlogNames() async throws(PostgresError) -> [String] {
        try answering { state in Set(state.lines.values.compactMap { $0.backlog?.key.text }).sorted() }
    }

    func release(_ backlog: String, atMost limit: Int, after age: Duration) async throws(PostgresError) -> Int {
        let (earliest, steady) = (clock - age, time.steady())
        return try answering { state in
            let old = state.lines.filter { _, line in
                guard let own = line.backlog, own.key.text == backlog else { return false }
                return own.queuedAt < earliest && line.updatedAt < earliest
            }
            for key in old.keys.prefix(limit) {
                state.lines[key]?.backlog = nil
                state.lines[key]?.dueAt = steady
            }
            return min(limit, old.count)
        }
    }
}

extension MemoryStore.State {
    /// Returns the deliveries that wait there, in order.
    fileprivate func waiting(
        at look: BacklogPoll,
        of users: UserFilter = .everyone
    ) -> [(key: DeliveryKey, turn: Timestamp)] {
        var waiting: [(key: DeliveryKey, turn: Timestamp)] = []
        for (key, line) in lines where line.priority == look.place.priority {
            guard let backlog = line.backlog, backlog.key == look.place.key else { continue }
            guard look.since.map({ backlog.queuedAt >= $0 }) ?? true else { continue }
            let number = numbers[key.notification.recipient] ?? 0
            switch users {
            case .all(let others): if others.contains(number) { continue }
            case .only(let few, let until): if !few.contains(number) || backlog.queuedAt > until { continue }
            }
            waiting.append((key, backlog.queuedAt))
        }
        return waiting.sorted { ($0.turn, $0.key.target) < ($1.turn, $1.key.target) }
    }

    /// Returns the deliveries of the same digest, or only this one.
    fileprivate func together(with key: DeliveryKey) -> [DeliveryKey] {
        guard let line = lines[key], let digest = line.digest else { return [key] }
        return lines.filter { other, candidate in
            candidate.digest == digest && candidate.backlog?.key == line.backlog?.key && other.target == key.target
                && candidate.backlog?.queuedAt == line.backlog?.queuedAt
                && other.notification.recipient == key.notification.recipient
        }.map(\.key)
    }

    fileprivate func wasReached(_ key: DeliveryKey) -> Bool {
        people[key.notification.recipient]?.devices.contains { $0.subscription == key.target && $0.wasReached } ?? false
    }
}

extension MemoryStore.Line {
    fileprivate func claimed(_ key: DeliveryKey, queuedAt: Timestamp?) -> ClaimedDelivery {
        ClaimedDelivery(
            key: key,
            attempts: attempts,
            outcomeWasUnknown: outcomeIsUnknown,
            digest: digest,
            queuedAt: queuedAt,
            wasHeld: reason == WaitReason.held.rawValue
        )
    }
}
