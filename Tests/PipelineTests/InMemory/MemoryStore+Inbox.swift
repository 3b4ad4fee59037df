import BellhopRules

@testable import Pipeline
@testable import Postgres
@testable import Store

/// Users and their notifications.
extension MemoryStore {
    func recipients(of keys: [UserKey]) async throws(PostgresError) -> [UserKey: Recipient] {
        try answering { (state) throws(PostgresError) in
            try state.read(keys.map(\.user))
            return Dictionary(keys.map { ($0, state.people[$0] ?? Recipient()) }) { first, _ in first }
        }
    }

    func follows(_ keys: Set<FollowKey>) async throws(PostgresError) -> [FollowKey: StoredFollow] {
        try answering { state in state.follows.filter { keys.contains($0.key) } }
    }

    func unread(
        of people: [UserKey],
        leavingOut types: [AppID: [EventType]]
    ) async throws(PostgresError) -> [UserKey: Int] {
        try answering { (state) throws(PostgresError) in
            guard !state.isTooSlowToCount else {
                throw PostgresError(.timedOut, "too slow", sqlState: .queryCancelled)
            }
            guard state.uncountable.isDisjoint(with: people.map(\.user)) else { throw State.brokenPage }
            state.counted += people.map(\.user.text)
            var unread: [UserKey: Int] = [:]
            for key in people {
                let left = types[key.app] ?? []
                unread[key] = state.records.count { notification, record in
                    notification.recipient == key && !state.read.contains(notification)
                        && !left.contains(record.words.content.type) && !record.deliveries.contains(where: \.isUnsent)
                }
            }
            return unread
        }
    }

    func record(_ records: [InboxRecord], as claim: Claim) async throws(PostgresError) -> [RecordOutcome] {
        let (now, steady) = (clock, time.steady())
        return try answering { (state) throws(PostgresError) in
            guard state.unrecordedToCome == 0 else {
                state.unrecordedToCome -= 1
                throw PostgresError(.connectionLost, "away")
            }
            try state.read(records.map(\.user))
            guard records.allSatisfy({ !state.refused.contains($0.user) }) else {
                throw PostgresError(.server(.invalidParameterValue), "refused", sqlState: .invalidParameterValue)
            }
            var outcomes: [RecordOutcome] = []
            for record in records {
                if let known = state.records[record.key] {
                    let isSame = known.words.contentHash.bytes == record.words.contentHash.bytes
                    outcomes.append(isSame ? .duplicate : .conflict)
                } else if state.isErased(record.key.recipient, for: record.words.saidAt) {
                    outcomes.append(.recipientErased)
                } else {
                    let moment = Moment(now: now, steady: steady, leaseEnds: steady + lease)
                    state.insert(record, as: claim, moment)
                    outcomes.append(.recorded)
                }
            }
            guard !state.losesRecord else {
                state.losesRecord = false
                throw PostgresError(.outcomeUnknown, "no reply")
            }
            return outcomes
        }
    }

    /// The time of a statement by both clocks.
    struct Moment {
        let now: Timestamp
        let steady: ContinuousClock.Instant
        let leaseEnds: ContinuousClock.Instant
    }

    func notifications(
        _ keys: [NotificationKey]
    ) async throws(PostgresError) -> [NotificationKey: StoredNotification] {
        try answering { (state) throws(PostgresError) in
            let users = keys.map(\.recipient.user)
            try state.read(users)
            guard state.unreadable.isDisjoint(with: users) else { throw State.brokenPage }
            var found: [NotificationKey: StoredNotification] = [:]
            for key in keys {
                guard let record = state.records[key] else { continue }
                found[key] = StoredNotification(
                    content: record.words.content,
                    isRead: state.read.contains(key),
                    isSuperseded: state.isSuperseded(key),
                    createdAt: state.recordedAt[key] ?? Timestamp(clamping: 0)
                )
            }
            return found
        }
    }

    func recentPushes(
        _ questions: [RecentPushQuestion]
    ) async throws(PostgresError) -> [DecisionFacts.RecentPushes] {
        let now = clock
        return try answering { state in
            questions.map { question in
                let own = state.lines.filter { key, line in
                    key.notification.recipient == question.recipient && line.isPush
                }
                return DecisionFacts.RecentPushes(
                    latest: question.burst.flatMap { state.latestPush(among: own, $0, now) },
                    lowPriority: min(question.most, state.lowPriorityPushes(among: own, now))
                )
            }
        }
    }
}

extension MemoryStore.State {
    fileprivate mutating func insert(_ record: InboxRecord, as claim: Claim, _ moment: MemoryStore.Moment) {
        records[record.key] = record
        recordedAt[record.key] = moment.now + .microseconds(record.position)
        numbers[record.key.recipient] = numbers[record.key.recipient] ?? Int64(numbers.count + 1)
        for opening in record.deliveries {
            let key = DeliveryKey(notification: record.key, channel: opening.channel, target: opening.target)
            var line = MemoryStore.Line(
                state: opening.state,
                reason: opening.reason,
                claim: opening.state == .sending ? claim : nil,
                leaseEnds: moment.leaseEnds,
                priority: record.words.content.priority,
                updatedAt: moment.now
            )
            if let wait = opening.wait {
                line.join(wait)
                let left = Duration.microseconds(wait.until.microseconds - moment.now.microseconds)
                line.dueAt = moment.steady + max(.zero, left)
            }
            lines[key] = line
        }
    }

    fileprivate func isErased(_ user: UserKey, for saidAt: Timestamp?) -> Bool {
        guard let tombstone = tombstones[user] else { return false }
        return saidAt.map { $0 <= tombstone.deletedAt } ?? (tombstone.returnedAt == nil)
    }

    /// Whether a later notification of the user has the same collapse key.
    fileprivate func isSuperseded(_ key: NotificationKey) -> Bool {
        guard let collapseKey = records[key]?.words.content.collapseKey, let own = recordedAt[key] else {
            return false
        }
        return records.contains { other, record in
            guard other.recipient == key.recipient, record.words.content.collapseKey == collapseKey,
                let time = recordedAt[other]
            else { return false }
            return (time, other.notification.number) > (own, key.notification.number)
        }
    }

    /// Returns the time of the latest push with the key, sent or planned.
    fileprivate func latestPush(
        among lines: [DeliveryKey: MemoryStore.Line],
        _ burst: (key: String, window: Duration),
        _ now: Timestamp
    ) -> Timestamp? {
        let groups = Dictionary(grouping: lines, by: \.key.notification)
        return groups.compactMap { key, lines -> Timestamp? in
            guard records[key]?.words.content.collapseKey == burst.key, let created = recordedAt[key],
                created > now - burst.window - burst.window, lines.contains(where: { !$0.value.isOverdue(now) })
            else { return nil }
            let ends = lines.filter(\.value.isBurst).compactMap(\.value.until)
            return max(created, ends.max() ?? created)
        }.max()
    }

    fileprivate func lowPriorityPushes(among lines: [DeliveryKey: MemoryStore.Line], _ now: Timestamp) -> Int {
        Set(lines.filter { $1.digest == nil }.map(\.key.notification)).count { key in
            guard let created = recordedAt[key] else { return false }
            return records[key]?.words.content.priority == .low && created > now - .seconds(3_600)
        }
    }
}

extension MemoryStore.Line {
    fileprivate var isPush: Bool { state != .suppressed && state != .expired }

    /// Whether it is about to be sent, and a newer notification may replace it.
    fileprivate func isOverdue(_ now: Timestamp) -> Bool {
        (state == .deferred || state == .pending) && until.map { $0 <= now } ?? false
    }

    /// Adds a wait that a rule requires to the earlier ones.
    mutating func join(_ wait: Wait) {
        until = wait.until
        if wait.reason == .digest { digest = wait.until }
        if wait.reason == .burst { isBurst = true }
    }
}
