package import BellhopRules
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

    /// Writes the records of one batch, and the lines of the ledger that open with them, in one statement; further ones
    /// where a user has no number yet, and look closer where some were not new.
    ///
    /// The answers are in the order of `records`. Copies inside one batch count as duplicates, or as conflicts where their
    /// words differ. Only what is answered as recorded was claimed.
    package func record(_ records: [InboxRecord], as claim: Claim) async throws(PostgresError) -> [Outcome] {
        guard !records.isEmpty else { return [] }
        // One order for all: two batches that share keys then wait for one another instead of deadlocking.
        let order = records.indices.sorted { (records[$0].id.bits, $0) < (records[$1].id.bits, $1) }
        let sorted = order.map { records[$0] }
        let outcomes = try await pool.withConnection { (connection) throws(PostgresError) in
            try Writing(claim: claim, connection: connection).write(sorted)
        }
        guard let outcomes else { return Array(repeating: .recorded, count: records.count) }
        var answer = Array(repeating: Outcome.recorded, count: records.count)
        for (position, index) in order.enumerated() { answer[index] = outcomes[position] }
        return answer
    }

    /// Runs the statement that records a batch, with no record: it fails for as long as no batch could be recorded.
    ///
    /// The server ends the wait for a lock, so that a worker that is killed meanwhile leaves no session behind that waits on.
    package func rehearse() async throws(PostgresError) {
        let columns = RecordColumns(of: [])
        var chance = SystemRandomNumberGenerator()
        let parameters = columns.parameters(Claim(using: &chance))
        try await pool.transaction { (connection) throws(PostgresError) in
            try connection.execute("SET LOCAL lock_timeout TO '2s'")
            _ = try connection.run(columns.statement, parameters)
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
            guard let place = try rows.place(row, 0, in: keys.indices), let stored = try StoredNotification(rows, row)
            else { continue }
            found[keys[place]] = stored
        }
        return found
    }

    /// How many of their notifications these users have not read, but for types that their apps do not count; none for those
    /// who have no number that is valid in the history of the database at hand.
    package func unread(
        of people: [RecipientKey],
        leavingOut types: [AppID: [EventType]] = [:]
    ) async throws(PostgresError) -> [RecipientKey: Int] {
        let known = people.filter { $0.number != nil }
        guard !known.isEmpty else { return [:] }
        // No type has a blank in its name.
        let uncounted = known.map { (types[$0.app] ?? []).map(\.text).joined(separator: " ") }
        let (rows, history) = try await pool.withConnection { (connection) throws(PostgresError) in
            let numbers = known.map { $0.number(in: connection.history) }
            let rows = try connection.run(InboxStatements.unread, [.integerArray(numbers), .textArray(uncounted)])
            return (rows, connection.history)
        }
        var unread: [RecipientKey: Int] = [:]
        for row in rows.indices {
            guard let place = try rows.place(row, 0, in: known.indices), known[place].number(in: history) != nil
            else { continue }
            unread[known[place]] = try rows.number(row, 1)
        }
        return unread
    }
}

/// One batch of records while it is written.
private struct Writing {
    let claim: Claim
    let connection: PostgresConnection

    /// Nil where all are new.
    ///
    /// The records are sorted by id.
    func write(_ records: [InboxRecord]) throws(PostgresError) -> [Inbox.Outcome]? {
        let known = try numbered(records)
        guard var outcomes = try record(known) else { return nil }
        // The number of somebody who was erased may have ended while this batch was under way.
        let erased = known.indices.filter { outcomes[$0] == .recipientErased && known[$0].key.recipient.number != nil }
        guard !erased.isEmpty else { return outcomes }
        let numbers = try People.enrol(
            erased.map { known[$0].key.recipient },
            saidAt: erased.map { known[$0].words.saidAt },
            on: connection
        )
        let returned = erased.filter { place in
            let key = known[place].key.recipient
            return numbers[key].map { $0 != key.number } ?? false
        }
        guard !returned.isEmpty else { return outcomes }
        let renumbered = returned.map { known[$0].numbered(by: numbers) }
        let later = try record(renumbered) ?? renumbered.map { _ in .recorded }
        for (place, outcome) in zip(returned, later) { outcomes[place] = outcome }
        return outcomes
    }

    /// The records with a number for each user who may have one.
    ///
    /// What was looked up in another history of the database is looked up again: there the number may be another user's.
    private func numbered(_ records: [InboxRecord]) throws(PostgresError) -> [InboxRecord] {
        let history = connection.history
        let unknown = records.filter { $0.key.recipient.number(in: history) == nil }
        guard !unknown.isEmpty else { return records }
        let numbers = try People.enrol(
            unknown.map(\.key.recipient),
            saidAt: unknown.map(\.words.saidAt),
            on: connection
        )
        return records.map { $0.key.recipient.number(in: history) == nil ? $0.numbered(by: numbers) : $0 }
    }

    /// Nil where all are new.
    private func record(_ records: [InboxRecord]) throws(PostgresError) -> [Inbox.Outcome]? {
        let firsts = Self.firstOfEach(records)
        let columns = RecordColumns(of: firsts)
        let inserted = try connection.run(columns.statement, columns.parameters(claim))
        return inserted.count < records.count ? try judge(records, inserted: inserted) : nil
    }

    /// Two of one id in one statement would open the same line twice; who has no number has been erased.
    private static func firstOfEach(_ sorted: [InboxRecord]) -> [InboxRecord] {
        var firsts: [InboxRecord] = []
        firsts.reserveCapacity(sorted.count)
        for record in sorted where record.id != firsts.last?.id && record.key.recipient.number != nil {
            firsts.append(record)
        }
        return firsts
    }

    private func judge(_ records: [InboxRecord], inserted: Rows) throws(PostgresError) -> [Inbox.Outcome] {
        var fresh: Set<Int64> = []
        for row in inserted.indices { fresh.insert(try inserted.integer(row, 0)) }
        let open = Self.unclear(records, inserted: fresh)
        let keys = open.map { records[$0].key }
        let stored = try connection.run(InboxStatements.lookUp, NotificationKey.parameters(keys))
        var hashes: [Int: [UInt8]] = [:]
        for row in stored.indices {
            guard let place = try stored.place(row, 0, in: open.indices) else { continue }
            hashes[open[place]] = try stored.bytes(row, 1)
        }
        var outcomes = records.map { _ in Inbox.Outcome.recorded }
        for position in open {
            let record = records[position]
            guard let hash = hashes[position] else {
                outcomes[position] = .recipientErased
                continue
            }
            let isSame = hash == record.words.contentHash.bytes
            guard isSame, fresh.remove(record.id.number) != nil else {
                outcomes[position] = isSame ? .duplicate : .conflict
                continue
            }
        }
        return outcomes
    }

    /// The places of those that need a closer look: what was not inserted, and copies inside the batch.
    private static func unclear(_ sorted: [InboxRecord], inserted: Set<Int64>) -> [Int] {
        sorted.indices.filter { index in
            let id = sorted[index].id
            let hasCopy =
                index > 0 && sorted[index - 1].id == id || index + 1 < sorted.count && sorted[index + 1].id == id
            return hasCopy || !inserted.contains(id.number)
        }
    }
}

extension InboxRecord {
    fileprivate func numbered(by numbers: [RecipientKey: PersonNumber]) -> InboxRecord {
        var record = self
        record.key.recipient.number = numbers[key.recipient]
        return record
    }
}
