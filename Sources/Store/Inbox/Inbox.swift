package import Postgres

/// Writes in-app records, each exactly once.
package struct Inbox: Sendable {
    private let pool: PostgresPool

    package init(pool: PostgresPool) {
        self.pool = pool
    }

    /// What became of one record.
    package enum Outcome: Sendable, Equatable {
        case recorded
        /// The same words were there already: a redelivery, a replay, a producer's repeat.
        case duplicate
        /// Other words were there already under this id; they stay.
        case conflict
        /// The user was erased, and this event is not known to be newer.
        case recipientErased
    }

    /// Writes the records of one batch in one statement; a second one looks closer where some were not new.
    ///
    /// The answers are in the order of `records`. Copies inside one batch count as duplicates, or as conflicts where
    /// their words differ.
    package func record(_ records: [InboxRecord]) async throws(PostgresError) -> [Outcome] {
        guard !records.isEmpty else { return [] }
        // One order for all: two batches that share keys then wait for one another instead of deadlocking.
        let order = records.indices.sorted { records[$0].id.bits < records[$1].id.bits }
        let sorted = order.map { records[$0] }
        let inserted = try await pool.run(Self.insert, Self.parameters(of: sorted))
        guard inserted.count < records.count else {
            return Array(repeating: .recorded, count: records.count)
        }
        let outcomes = try await judge(sorted, inserted: inserted)
        var answer = Array(repeating: Outcome.recorded, count: records.count)
        for (position, index) in order.enumerated() { answer[index] = outcomes[position] }
        return answer
    }

    private func judge(_ records: [InboxRecord], inserted: Rows) async throws(PostgresError) -> [Outcome] {
        var fresh: Set<String> = []
        for row in 0..<inserted.count {
            fresh.insert(try inserted.text(row, 0))
        }
        let stored = try await pool.run(
            Self.lookUp,
            [
                .textArray(records.map { $0.app.text }),
                .textArray(records.map { $0.user.text }),
                .textArray(records.map { $0.id.text }),
            ]
        )
        var hashes: [Int64: [UInt8]] = [:]
        for row in 0..<stored.count {
            hashes[try stored.integer(row, 0)] = try stored.bytes(row, 1)
        }
        return records.enumerated().map { position, record in
            guard let hash = hashes[Int64(position) + 1] else { return .recipientErased }
            guard hash == record.words.contentHash.bytes else { return .conflict }
            return fresh.remove(record.id.text) == nil ? .duplicate : .recorded
        }
    }

    private static func parameters(of records: [InboxRecord]) -> [Parameter] {
        [
            .textArray(records.map { $0.app.text }),
            .textArray(records.map { $0.user.text }),
            .textArray(records.map { $0.id.text }),
            .textArray(records.map { $0.event.text }),
            .bytesArray(records.map { $0.words.contentHash.bytes }),
            .textArray(records.map { $0.type.text }),
            .textArray(records.map { $0.words.title }),
            .textArray(records.map { $0.words.body }),
            .textArray(records.map { $0.words.priority.rawValue }),
            .textArray(records.map { $0.words.venueID }),
            .jsonArray(records.map { $0.words.link }),
            .jsonArray(records.map { $0.words.data }),
            .instantArray(records.map { $0.words.saidAt?.microseconds }),
            .bytesArray(records.map { SubjectHash.recipient($0.app, $0.user).bytes }),
        ]
    }

    private static let insert = Statement(
        """
        INSERT INTO notifications
            (app, user_id, id, event_id, content_hash, type, title, body, priority, venue_id, link, data)
        SELECT r.app, r.user_id, r.id, r.event_id, r.content_hash, r.type, r.title, r.body, r.priority, r.venue_id,
               r.link, r.data
        FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bytea[], $6::text[], $7::text[], $8::text[],
                    $9::text[], $10::text[], $11::jsonb[], $12::jsonb[], $13::timestamptz[], $14::bytea[])
             AS r (app, user_id, id, event_id, content_hash, type, title, body, priority, venue_id, link, data,
                   said_at, subject_hash)
        WHERE NOT EXISTS (
            SELECT FROM tombstones t
            WHERE t.app = r.app AND t.subject_hash = r.subject_hash
              AND CASE WHEN r.said_at IS NULL THEN t.returned_at IS NULL ELSE r.said_at <= t.deleted_at END
        )
        ON CONFLICT (app, user_id, id) DO NOTHING
        RETURNING id
        """
    )

    private static let lookUp = Statement(
        """
        SELECT r.position, n.content_hash
        FROM unnest($1::text[], $2::text[], $3::text[]) WITH ORDINALITY AS r (app, user_id, id, position)
        JOIN notifications n ON n.app = r.app AND n.user_id = r.user_id AND n.id = r.id
        """
    )
}
