import BellhopRules
package import Postgres

/// Erases once more those whose erasure other transactions may have missed, and then forgets who they were.
///
/// A statement that began before an erasure was committed sees no tombstone, and what it writes is not seen by the
/// erasure. To make each record wait for its user's erasure would cost every event; looking again costs the erased alone.
package struct ErasureBook: Sendable {
    private let pool: PostgresPool

    package init(pool: PostgresPool) {
        self.pool = pool
    }

    /// Takes so many erasures whose time has come, and returns how many it was.
    ///
    /// Their time has come when every transaction has ended that wrote while they ran, and `patience` has passed: as long
    /// as any statement may take, for one that had begun and not written yet.
    package func repeatDue(after patience: Duration, atMost limit: Int) async throws(PostgresError) -> Int {
        try await pool.transaction { (connection) throws(PostgresError) in
            let due = try connection.run(Self.due, [.integer(patience.milliseconds), .integer(Int64(limit))])
            let people = try due.compactMap { (rows, row) throws(PostgresError) in try rows.recipientKey(row) }
            guard !people.isEmpty else { return 0 }
            // No word about one of them is written meanwhile: it would be lost between what is deleted and what is kept.
            try FeedLocks(erasing: people).take(on: connection)
            let rows = try connection.run(
                Self.hold,
                RecipientKey.parameters(people) + [.integer(patience.milliseconds)]
            )
            guard !rows.isEmpty else { return 0 }
            let words = try rows.compactMap { (rows, row) throws(PostgresError) -> Word<UserID>? in
                guard let key = try rows.recipientKey(row) else { return nil }
                return Word(app: key.app, user: key.user, saidAt: try rows.moment(row, 2), key.user)
            }
            if !words.isEmpty { try Erasure.takeOut(words, on: connection) }
            let apps = try rows.texts()
            let users = try rows.texts(1)
            let who: [Parameter] = [.textArray(apps), .textArray(users)]
            try Erasure.forgetNumbers(who, on: connection)
            _ = try connection.run(Self.forget, who)
            return rows.count
        }
    }

    private static let due = Statement(
        """
        SELECT app, user_id FROM erasures
        WHERE recorded_at <= now() - $1::bigint * interval '1 ms'
          AND transaction < pg_snapshot_xmin(pg_current_snapshot())
        ORDER BY recorded_at LIMIT $2
        """,
        effect: .reads
    )

    /// Those of them that nobody else has in hand, and whose erasure was not said anew meanwhile.
    private static let hold = Statement(
        """
        SELECT e.app, e.user_id, e.said_at
        FROM unnest($1::text[], $2::text[]) AS r (app, user_id)
        JOIN erasures e ON e.user_id = ANY (ARRAY[r.user_id]) AND e.app = r.app
        WHERE e.recorded_at <= now() - $3::bigint * interval '1 ms'
          AND e.transaction < pg_snapshot_xmin(pg_current_snapshot())
        ORDER BY r.user_id COLLATE "C", r.app COLLATE "C"
        FOR UPDATE OF e SKIP LOCKED
        """
    )

    private static let forget = Statement(
        """
        DELETE FROM erasures e USING unnest($1::text[], $2::text[]) AS r (app, user_id)
        WHERE e.app = r.app AND e.user_id = ANY (ARRAY[r.user_id])
        """
    )
}
