package import BellhopRules
package import Postgres

/// The result of writing one record to the inbox.
package enum RecordOutcome: String, Sendable {
    case recorded
    /// The id was stored with the same content: a redelivery, a replay or a producer's repeat.
    case duplicate
    /// The id was stored with different content, which is kept.
    case conflict
    /// The user was erased, and this event is not known to be newer.
    case recipientErased = "erased"
}

/// The inbox: each notification is written exactly once.
extension WorkerStore {
    /// Writes the records of one batch and their initial deliveries, in one statement.
    ///
    /// Further statements follow if a user has no number yet or if some records were not new.
    ///
    /// The results are in the order of `records`. Copies within a batch count as duplicates, or as conflicts if their
    /// contents differ. Only deliveries of records with the result `recorded` are claimed.
    package func record(_ records: [InboxRecord], as claim: Claim) async throws(PostgresError) -> [RecordOutcome] {
        guard !records.isEmpty else { return [] }
        // A common order makes two batches with shared keys wait for each other instead of deadlocking.
        let order = records.indices.sorted { (records[$0].id.bits, $0) < (records[$1].id.bits, $1) }
        let sorted = order.map { records[$0] }
        let outcomes = try await pool.withConnection { (connection) throws(PostgresError) in
            try Writing(claim: claim, connection: connection).write(sorted)
        }
        guard let outcomes else { return Array(repeating: .recorded, count: records.count) }
        var answer = Array(repeating: RecordOutcome.recorded, count: records.count)
        for (position, index) in order.enumerated() { answer[index] = outcomes[position] }
        return answer
    }

    /// Runs the statement that records a batch, without records.
    ///
    /// It fails as long as no batch can be recorded.
    ///
    /// The server limits the wait for a lock. If the worker is killed meanwhile, no session is left behind that still
    /// waits.
    package func rehearse() async throws(PostgresError) {
        let columns = InboxColumns(of: [])
        var chance = SystemRandomNumberGenerator()
        let parameters = columns.parameters(Claim(using: &chance))
        try await pool.transaction { (connection) throws(PostgresError) in
            try connection.execute("SET LOCAL lock_timeout TO '2s'")
            _ = try connection.run(columns.statement, parameters)
        }
    }

    /// Predicts the results for these records.
    ///
    /// It changes nothing and does not check for erased users.
    package func foresee(_ records: [InboxRecord]) async throws(PostgresError) -> [RecordOutcome] {
        guard !records.isEmpty else { return [] }
        let stored = try await pool.run(InboxRecord.lookUp, NotificationKey.parameters(records.map(\.key)))
        var outcomes = records.map { _ in RecordOutcome.recorded }
        for row in stored.indices {
            guard let place = try stored.place(row, 0, in: outcomes.indices) else { continue }
            let isSame = try stored.bytes(row, 1) == records[place].words.contentHash.bytes
            outcomes[place] = isSame ? .duplicate : .conflict
        }
        return outcomes
    }

    /// Returns the stored data of these notifications, for a delivery that continues later.
    package func notifications(
        _ keys: [NotificationKey]
    ) async throws(PostgresError) -> [NotificationKey: StoredNotification] {
        guard !keys.isEmpty else { return [:] }
        let rows = try await pool.run(StoredNotification.load, NotificationKey.parameters(keys))
        var found: [NotificationKey: StoredNotification] = [:]
        for row in rows.indices {
            guard let place = try rows.place(row, 0, in: keys.indices), let stored = try StoredNotification(rows, row)
            else { continue }
            found[keys[place]] = stored
        }
        return found
    }

    /// Returns the number on the icon of each user's app.
    ///
    /// It is the number of unread notifications, except those of types that the app does not count and those whose push
    /// was suppressed or had expired when they were recorded: no device has shown these.
    ///
    /// Users without a number that is valid in this database history are omitted.
    package func unread(
        of people: [UserKey],
        leavingOut types: [AppID: [EventType]] = [:]
    ) async throws(PostgresError) -> [UserKey: Int] {
        let known = people.filter { $0.number != nil }
        guard !known.isEmpty else { return [:] }
        // No event type contains a space.
        let uncounted = known.map { (types[$0.app] ?? []).map(\.text).joined(separator: " ") }
        let (rows, history) = try await pool.withConnection { (connection) throws(PostgresError) in
            let numbers = known.map { $0.number(in: connection.history) }
            let rows = try connection.run(Self.unread, [.integerArray(numbers), .textArray(uncounted)])
            return (rows, connection.history)
        }
        var unread: [UserKey: Int] = [:]
        for row in rows.indices {
            guard let place = try rows.place(row, 0, in: known.indices), known[place].number(in: history) != nil
            else { continue }
            unread[known[place]] = try rows.number(row, 1)
        }
        return unread
    }

    /// Counts each user's unread notifications, of at most 10,000.
    ///
    /// The second parameter contains the types that do not count, separated by spaces.
    private static let unread = Statement(
        """
        SELECT k.position, (
                   SELECT count(*) FROM \(StoredNotification.unreadRows(of: "k.person")) AS shown
                   WHERE \(StoredNotification.isUnread) AND unsent IS NULL AND (k.uncounted = '' OR type <> ALL (string_to_array(k.uncounted, ' ')))
               )
        FROM (
            SELECT generate_subscripts($1::bigint[], 1)::bigint AS position, unnest($1::bigint[]) AS person,
                   unnest($2::text[]) AS uncounted
        ) AS k
        """,
        effect: .reads
    )
}

/// Writes one batch of records.
private struct Writing {
    let claim: Claim
    let connection: PostgresConnection

    /// Writes records that are sorted by id, and returns the results; `nil` if all were new.
    func write(_ records: [InboxRecord]) throws(PostgresError) -> [RecordOutcome]? {
        let known = try numbered(records)
        guard var outcomes = try record(known) else { return nil }
        // If a user was erased during this batch, the user's number may have ended.
        let erased = known.indices.filter { outcomes[$0] == .recipientErased && known[$0].key.recipient.number != nil }
        guard !erased.isEmpty else { return outcomes }
        let numbers = try UserNumbers.enrol(
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

    /// Returns the records with a number for each user who can have one.
    ///
    /// A number from another history of the database is looked up again: in this history it may belong to another user.
    private func numbered(_ records: [InboxRecord]) throws(PostgresError) -> [InboxRecord] {
        let history = connection.history
        let unknown = records.filter { $0.key.recipient.number(in: history) == nil }
        guard !unknown.isEmpty else { return records }
        let numbers = try UserNumbers.enrol(
            unknown.map(\.key.recipient),
            saidAt: unknown.map(\.words.saidAt),
            on: connection
        )
        return records.map { $0.key.recipient.number(in: history) == nil ? $0.numbered(by: numbers) : $0 }
    }

    /// Writes records whose users have numbers; `nil` if all were new.
    private func record(_ records: [InboxRecord]) throws(PostgresError) -> [RecordOutcome]? {
        let firsts = Self.firstOfEach(records)
        let columns = InboxColumns(of: firsts)
        let inserted = try connection.run(columns.statement, columns.parameters(claim))
        return inserted.count < records.count ? try judge(records, inserted: inserted) : nil
    }

    /// Returns the first record of each id, since two records with one id would insert the same delivery twice.
    ///
    /// Records without a user number are omitted: their user has been erased.
    private static func firstOfEach(_ sorted: [InboxRecord]) -> [InboxRecord] {
        var firsts: [InboxRecord] = []
        firsts.reserveCapacity(sorted.count)
        for record in sorted where record.id != firsts.last?.id && record.key.recipient.number != nil {
            firsts.append(record)
        }
        return firsts
    }

    private func judge(_ records: [InboxRecord], inserted: Rows) throws(PostgresError) -> [RecordOutcome] {
        var fresh: Set<Int64> = []
        for row in inserted.indices { fresh.insert(try inserted.integer(row, 0)) }
        let open = Self.unclear(records, inserted: fresh)
        let keys = open.map { records[$0].key }
        let stored = try connection.run(InboxRecord.lookUp, NotificationKey.parameters(keys))
        var hashes: [Int: [UInt8]] = [:]
        for row in stored.indices {
            guard let place = try stored.place(row, 0, in: open.indices) else { continue }
            hashes[open[place]] = try stored.bytes(row, 1)
        }
        var outcomes = records.map { _ in RecordOutcome.recorded }
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

    /// Returns the positions of records that were not inserted or have copies in the batch, so that another query is
    /// needed.
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
    /// Returns the content hashes of stored notifications.
    fileprivate static let lookUp = Statement(
        """
        SELECT r.position, n.content_hash
        FROM \(NotificationKey.named) AS r
        CROSS JOIN LATERAL \(NotificationKey.row("id, content_hash", of: "r")) AS n
        WHERE n.id = r.id
        """,
        effect: .reads
    )

    fileprivate func numbered(by numbers: [UserKey: PersonNumber]) -> InboxRecord {
        numbered(numbers[key.recipient])
    }
}
