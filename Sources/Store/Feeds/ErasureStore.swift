import BellhopRules
package import Postgres

/// Repeats erasures that other transactions may have missed, and then deletes the users' names from the list of
/// erasures.
///
/// A statement that began before the commit of an erasure sees no tombstone, and the erasure does not see its rows. If
/// each record waited for its user's erasure, every event would pay for it. A second run costs only the erased users.
package struct ErasureStore: Sendable {
    private let pool: PostgresPool

    package init(pool: PostgresPool) {
        self.pool = pool
    }

    /// Repeats at most `limit` due erasures and returns their number.
    ///
    /// An erasure is due when all transactions have ended that wrote during it, and `patience` has passed. `patience`
    /// is the longest duration of a statement, for a transaction that had begun but not written yet.
    ///
    /// After a restore, the recorded transaction ids are those of another server. No transaction is older than the
    /// start of its server.
    package func repeatDue(after patience: Duration, atMost limit: Int) async throws(PostgresError) -> Int {
        try await pool.transaction { (connection) throws(PostgresError) in
            let due = try connection.run(Self.due, [.integer(patience.milliseconds), .integer(Int64(limit))])
            let people = try due.compactMap { (rows, row) throws(PostgresError) in try rows.recipientKey(row) }
            guard !people.isEmpty else { return 0 }
            // No feed message about these users may be written meanwhile: it would be lost between the deletion and the
            // check for remaining rows.
            try FeedLocks(erasing: people).take(on: connection)
            let rows = try connection.run(
                Self.hold,
                UserKey.parameters(people) + [.integer(patience.milliseconds)]
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
            let hashes = words.map { IdentityHash.recipient($0.app, $0.user).bytes }
            _ = try connection.run(Self.complete, [.textArray(words.map(\.app.text)), .bytesArray(hashes)])
            return rows.count
        }
    }

    /// A time in the future was recorded by a wrong clock.
    private static func isDue(_ patience: String) -> String {
        """
        (recorded_at <= now() - \(patience)::bigint * interval '1 ms' OR recorded_at > now() + interval '1 min')
          AND (transaction < pg_snapshot_xmin(pg_current_snapshot()) OR recorded_at < pg_postmaster_start_time()
               OR transaction >= pg_snapshot_xmax(pg_current_snapshot()))
        """
    }

    /// Returns the age of the oldest erasure whose second run is pending; `nil` if there is none.
    package func oldest() async throws(PostgresError) -> Duration? {
        let rows = try await pool.run(Self.oldest, [])
        return try rows.isEmpty ? nil : rows.optionalInteger(0, 0).map { .milliseconds(max(0, $0)) }
    }

    private static let oldest = Statement(
        """
        SELECT floor(extract(epoch FROM now() - recorded_at) * 1000)::bigint FROM erasures ORDER BY recorded_at LIMIT 1
        """,
        effect: .reads
    )

    private static let due = Statement(
        """
        SELECT app, user_id FROM erasures
        WHERE \(isDue("$1"))
        ORDER BY recorded_at LIMIT $2
        """,
        effect: .reads
    )

    /// Locks the erasures that no other process has locked and that were not requested again meanwhile.
    private static let hold = Statement(
        """
        SELECT e.app, e.user_id, e.said_at
        FROM unnest($1::text[], $2::text[]) AS r (app, user_id)
        JOIN erasures e ON e.user_id = ANY (ARRAY[r.user_id]) AND e.app = r.app
        WHERE \(isDue("$3"))
        ORDER BY r.user_id COLLATE "C", r.app COLLATE "C"
        FOR UPDATE OF e SKIP LOCKED
        """
    )

    /// Completes the erasure: a token issued after it is valid from now on.
    private static let complete = Statement(
        """
        UPDATE tombstones t SET completed_at = now()
        FROM unnest($1::text[], $2::bytea[]) AS r (app, person)
        WHERE t.app = ANY (ARRAY[r.app]) AND t.subject_hash = r.person
        """
    )

    private static let forget = Statement(
        """
        DELETE FROM erasures e USING unnest($1::text[], $2::text[]) AS r (app, user_id)
        WHERE e.app = r.app AND e.user_id = ANY (ARRAY[r.user_id])
        """
    )
}
