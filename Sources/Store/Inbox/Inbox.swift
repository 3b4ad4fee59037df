package import Postgres

/// Writes in-app records, each exactly once.
package struct Inbox: Sendable {
    private let pool: PostgresPool

    package init(pool: PostgresPool) {
        self.pool = pool
    }

    /// What became of one record.
    package enum Outcome: String, Sendable {
        case recorded
        /// The same words were there already: a redelivery, a replay, a producer's repeat.
        case duplicate
        /// Other words were there already under this id; they stay.
        case conflict
        /// The user was erased, and this event is not known to be newer.
        case recipientErased = "erased"
    }

    /// Writes the records of one batch, and the lines of the ledger that open with them, in one statement; a second one
    /// looks closer where some were not new.
    ///
    /// The answers are in the order of `records`. Copies inside one batch count as duplicates, or as conflicts where
    /// their words differ. Only what is answered as recorded was claimed.
    package func record(_ records: [InboxRecord], as claim: Claim) async throws(PostgresError) -> [Outcome] {
        guard !records.isEmpty else { return [] }
        // One order for all: two batches that share keys then wait for one another instead of deadlocking.
        let order = records.indices.sorted { (records[$0].id.bits, $0) < (records[$1].id.bits, $1) }
        let firsts = Self.firstOfEach(order.map { records[$0] })
        let inserted = try await pool.run(InboxStatements.record, InboxStatements.parameters(of: firsts, claim))
        guard inserted.count < records.count else {
            return Array(repeating: .recorded, count: records.count)
        }
        let outcomes = try await judge(order.map { records[$0] }, inserted: inserted)
        var answer = Array(repeating: Outcome.recorded, count: records.count)
        for (position, index) in order.enumerated() { answer[index] = outcomes[position] }
        return answer
    }

    /// Of records that are sorted by id: two of one id in one statement would open the same line twice.
    private static func firstOfEach(_ sorted: [InboxRecord]) -> [InboxRecord] {
        var firsts: [InboxRecord] = []
        firsts.reserveCapacity(sorted.count)
        for record in sorted where record.id != firsts.last?.id { firsts.append(record) }
        return firsts
    }

    private func judge(_ records: [InboxRecord], inserted: Rows) async throws(PostgresError) -> [Outcome] {
        var fresh = Set(try inserted.texts())
        let open = Self.unclear(records, inserted: fresh)
        let keys = open.map { records[$0].key }
        let stored = try await pool.run(InboxStatements.lookUp, NotificationKey.parameters(keys))
        var hashes: [Int: [UInt8]] = [:]
        for row in stored.indices {
            guard let place = try stored.place(row, 0, in: open.indices) else { continue }
            hashes[open[place]] = try stored.bytes(row, 1)
        }
        var outcomes = records.map { _ in Outcome.recorded }
        for position in open {
            let record = records[position]
            guard let hash = hashes[position] else {
                outcomes[position] = .recipientErased
                continue
            }
            let isSame = hash == record.words.contentHash.bytes
            guard isSame, fresh.remove(record.id.text) != nil else {
                outcomes[position] = isSame ? .duplicate : .conflict
                continue
            }
        }
        return outcomes
    }

    /// The places of those that need a closer look: what was not inserted, and copies inside the batch.
    private static func unclear(_ sorted: [InboxRecord], inserted: Set<String>) -> [Int] {
        sorted.indices.filter { index in
            let id = sorted[index].id
            let hasCopy =
                index > 0 && sorted[index - 1].id == id || index + 1 < sorted.count && sorted[index + 1].id == id
            return hasCopy || !inserted.contains(id.text)
        }
    }

    /// What would become of these records; changes nothing, and does not look for erased users.
    package func foresee(_ records: [InboxRecord]) async throws(PostgresError) -> [Outcome] {
        guard !records.isEmpty else { return [] }
        let stored = try await pool.run(InboxStatements.lookUp, NotificationKey.parameters(records.map(\.key)))
        var outcomes = records.map { _ in Outcome.recorded }
        for row in stored.indices {
            guard let place = try stored.place(row, 0, in: outcomes.indices) else { continue }
            let isSame = try stored.bytes(row, 1) == records[place].words.contentHash.bytes
            outcomes[place] = isSame ? .duplicate : .conflict
        }
        return outcomes
    }

    /// What is stored of these notifications, for a delivery that comes back.
    package func notifications(
        _ keys: [NotificationKey]
    ) async throws(PostgresError) -> [NotificationKey: StoredNotification] {
        guard !keys.isEmpty else { return [:] }
        let rows = try await pool.run(InboxStatements.load, NotificationKey.parameters(keys))
        var found: [NotificationKey: StoredNotification] = [:]
        for row in rows.indices {
            guard let key = try rows.notificationKey(row), let stored = try StoredNotification(rows, row) else {
                continue
            }
            found[key] = stored
        }
        return found
    }
}
