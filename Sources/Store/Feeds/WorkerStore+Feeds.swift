import BellhopRules
package import Postgres

/// Stores feed messages idempotently.
///
/// An older update never overwrites a newer one.
extension WorkerStore {
    /// Applies a batch.
    ///
    /// All updates of a user are in one transaction, which contains a few dozen users.
    ///
    /// After an error, part of the batch may be stored. Applying it again does not change that part.
    package func apply(_ entries: [FeedEntry]) async throws(PostgresError) -> [Void] {
        for entries in FeedEntry.groups(of: entries) {
            try await pool.transaction { (connection) throws(PostgresError) in
                try FeedLocks(entries).take(on: connection)
                try FeedEntry.apply(entries, on: connection)
            }
        }
        return entries.map { _ in }
    }
}

extension FeedEntry {
    /// Applies updates of a few dozen users in a transaction that has their locks already.
    static func apply(_ entries: [FeedEntry], on connection: PostgresConnection) throws(PostgresError) {
        for round in rounds(of: entries) {
            try FeedBatch(round).apply(on: connection)
        }
    }
}

/// At most one update per user, grouped by kind.
private struct FeedBatch {
    private var recipients: [UserUpdate<RecipientUpdate>] = []
    private var erasures: [UserUpdate<UserID>] = []
    private var subscriptions: [UserUpdate<SubscriptionUpdate>] = []
    private var revocations: [UserUpdate<DeviceToken>] = []
    private var follows: [UserUpdate<FollowUpdateRow>] = []
    private var reminders: [UserUpdate<ReminderUpdate>] = []
    private var removals: [UserUpdate<ReminderID>] = []
    private var readings: [UserUpdate<ReadUpdate.Selection>] = []

    init(_ entries: [FeedEntry]) {
        for entry in entries {
            switch entry.update.change {
            case .recipientUpserted(let update): recipients.append(UserUpdate(entry, update))
            case .recipientDeleted(let user): erasures.append(UserUpdate(entry, user))
            case .subscriptionUpserted(let update): subscriptions.append(UserUpdate(entry, update))
            case .subscriptionRevoked(_, let token): revocations.append(UserUpdate(entry, token))
            case .followAdded(let update): follows.append(UserUpdate(entry, FollowUpdateRow(added: update, entry.key)))
            case .followRemoved(_, let topic, let token):
                let row = FollowUpdateRow(removed: topic, token, entry.key, isFromClient: entry.isFromClient)
                follows.append(UserUpdate(entry, row))
            case .reminderSet(let update): reminders.append(UserUpdate(entry, update))
            case .reminderRemoved(_, let id): removals.append(UserUpdate(entry, id))
            case .notificationRead(let update): readings.append(UserUpdate(entry, update.which))
            }
        }
    }

    func apply(on connection: PostgresConnection) throws(PostgresError) {
        if !recipients.isEmpty { try RecipientFeed.upsert(recipients, on: connection) }
        if !erasures.isEmpty { try Erasure.run(erasures, on: connection) }
        if !subscriptions.isEmpty { try SubscriptionFeed.upsert(subscriptions, on: connection) }
        if !revocations.isEmpty { try SubscriptionFeed.revoke(revocations, on: connection) }
        if !follows.isEmpty { try FollowFeed.apply(follows, on: connection) }
        if !reminders.isEmpty { try ReminderFeed.set(reminders, on: connection) }
        if !removals.isEmpty { try ReminderFeed.remove(removals, on: connection) }
        if !readings.isEmpty { try ReadingFeed.read(readings, on: connection) }
    }
}

extension FeedEntry {
    fileprivate var key: UserKey { UserKey(app: update.app, user: update.change.user) }
}

extension FieldUpdate {
    /// Whether the stored value is replaced; otherwise a `CASE` in the statement keeps it.
    var isGiven: Bool { self != .unchanged }
}
