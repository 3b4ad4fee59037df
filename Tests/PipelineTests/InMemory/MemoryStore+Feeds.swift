import BellhopRules

@testable import Pipeline
@testable import Postgres
@testable import Store

/// Users' data, as feed messages change them.
extension MemoryStore {
    func apply(_ feeds: [FeedEntry]) async throws(PostgresError) -> [Void] {
        let (now, steady) = (clock, time.steady())
        return try answering { state in
            state.fed += feeds.count
            for entry in feeds { state.apply(entry, at: now, steady) }
            return feeds.map { _ in () }
        }
    }

    func releasePaused(of people: [UserKey]) async throws(PostgresError) -> Int {
        let (now, steady) = (clock, time.steady())
        return try answering { state in state.releasePaused(of: people, at: now, steady) }
    }
}

extension MemoryStore.State {
    fileprivate mutating func apply(_ entry: FeedEntry, at now: Timestamp, _ steady: ContinuousClock.Instant) {
        let key = UserKey(app: entry.update.app, user: entry.update.change.user)
        if case .recipientDeleted = entry.update.change { return erase(key, at: entry.saidAt) }
        guard tombstones[key].map({ entry.saidAt > $0.deletedAt }) ?? true else { return }
        switch entry.update.change {
        case .recipientUpserted(let update):
            guard isNewest(entry, "recipient \(key.user)") else { return }
            tombstones[key]?.returnedAt = entry.saidAt
            knownSince[key] = knownSince[key] ?? now
            people[key, default: Recipient()].change(update)
            if update.preferences != .unchanged { _ = releasePaused(of: [key], at: now, steady) }
        case .recipientDeleted: break
        case .subscriptionUpserted(let update):
            guard isNewest(entry, "device \(update.token.text)") else { return }
            let device = Device(update, of: key)
            removeDevices { $0 == update.token || $0 == update.replaces }
            people[key, default: Recipient()].devices.append(device)
            registeredAt[device.subscription] = entry.saidAt
        case .subscriptionRevoked(_, let token):
            guard isNewest(entry, "device \(token.text)") else { return }
            removeDevices { $0 == token }
        case .followAdded(let update):
            let follow = FollowKey(key, update.topic)
            guard isNewest(entry, "follow \(key.user) \(update.topic)") else { return }
            follows[follow] = StoredFollow(role: update.role.value, isMuted: update.muted.value ?? false, devices: nil)
            followedSince[follow] = followedSince[follow] ?? now
        case .followRemoved(_, let topic, _):
            guard isNewest(entry, "follow \(key.user) \(topic)") else { return }
            follows[FollowKey(key, topic)] = nil
            followedSince[FollowKey(key, topic)] = nil
        case .notificationRead(let update): markRead(update.which, of: key, at: entry.saidAt)
        case .reminderSet, .reminderRemoved: break
        }
    }

    /// Makes deliveries due that wait for the end of a pause which is over, or ends earlier, by now.
    fileprivate mutating func releasePaused(
        of users: [UserKey],
        at now: Timestamp,
        _ steady: ContinuousClock.Instant
    ) -> Int {
        var released = 0
        for (key, line) in lines where users.contains(key.notification.recipient) {
            let end = max(now, people[key.notification.recipient]?.preferences?.pausedUntil ?? now)
            let dueAt = steady + .microseconds(end.microseconds - now.microseconds)
            guard line.state == .deferred, line.reason == Wait.Reason.paused.rawValue, let old = line.dueAt, old > dueAt
            else { continue }
            lines[key]?.dueAt = dueAt
            lines[key]?.until = end
            released += 1
        }
        return released
    }

    /// Whether no later update of the same subject has been applied.
    private mutating func isNewest(_ entry: FeedEntry, _ subject: String) -> Bool {
        let subject = "\(entry.update.app) \(subject)"
        guard updatedAt[subject].map({ $0 < entry.saidAt }) ?? true else { return false }
        updatedAt[subject] = entry.saidAt
        return true
    }

    private mutating func erase(_ key: UserKey, at time: Timestamp) {
        people[key] = nil
        knownSince[key] = nil
        records = records.filter { $0.key.recipient != key }
        recordedAt = recordedAt.filter { $0.key.recipient != key }
        lines = lines.filter { $0.key.notification.recipient != key }
        follows = follows.filter { $0.key.recipient != key }
        followedSince = followedSince.filter { $0.key.recipient != key }
        tombstones[key] = (time, nil)
    }

    private mutating func removeDevices(_ isMeant: (DeviceToken) -> Bool) {
        for key in people.keys { people[key]?.devices.removeAll { isMeant($0.token) } }
    }

    private mutating func markRead(_ which: ReadUpdate.Selection, of key: UserKey, at time: Timestamp) {
        for notification in records.keys where notification.recipient == key {
            switch which {
            case .named(let ids): if ids.contains(notification.notification) { read.insert(notification) }
            case .all(let until):
                if (recordedAt[notification] ?? time) <= (until ?? time) { read.insert(notification) }
            }
        }
    }
}

extension Recipient {
    fileprivate mutating func change(_ update: RecipientUpdate) {
        update.locale.apply(to: &locale, otherwise: nil)
        update.timezone.apply(to: &timezone, otherwise: nil)
        update.email.apply(to: &email, otherwise: nil)
        if case .set(let isEnabled) = update.pushEnabled { pushEnabled = isEnabled }
        if case .set(let isEnabled) = update.emailEnabled { emailEnabled = isEnabled }
        if case .set(let document) = update.preferences {
            // No test in memory has choices for e-mail.
            var document = document
            let kept = document["pausedUntil"] == nil ? preferences?.pausedUntil : nil
            if let kept { document["pausedUntil"] = .string(kept.description) }
            preferences = Preferences(document)
        }
    }
}

extension FieldUpdate {
    fileprivate func apply(to value: inout Value?, otherwise initial: Value?) {
        switch self {
        case .unchanged: break
        case .cleared: value = initial
        case .set(let new): value = new
        }
    }
}

extension Device {
    fileprivate init(_ update: SubscriptionUpdate, of key: UserKey) {
        let hash = IdentityHash.subscription(key.app, key.user, token: update.token.text)
        self.init(
            subscription: "sub_" + hash.hex.prefix(16),
            token: update.token,
            platform: update.platform,
            provider: update.provider,
            permission: update.permission.value,
            environment: update.environment.value
        )
    }
}
