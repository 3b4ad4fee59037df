import BellhopRules
package import Postgres

/// Applies `recipient.deleted`: leaves a tombstone for the user, and deletes all data that names the user.
enum Erasure {
    /// Writes the tombstone first, so that later transactions see it, then deletes all older data.
    ///
    /// Transactions that began before may still write. The user is therefore recorded for ``ErasureStore``, and only
    /// until its second run.
    static func run(_ words: [UserUpdate<UserID>], on connection: PostgresConnection) throws(PostgresError) {
        let who = UserUpdate.who(words)
        _ = try connection.run(leaveTombstones, who)
        _ = try connection.run(note, Array(who.prefix(3)))
        try takeOut(words, on: connection)
    }

    /// Deletes everything but the tombstone.
    ///
    /// A second run also deletes rows that were written meanwhile.
    static func takeOut(_ words: [UserUpdate<UserID>], on connection: PostgresConnection) throws(PostgresError) {
        let who = UserUpdate.who(words)
        for statement in owned { _ = try connection.run(statement, who) }
        try ErasedUserDeadLetters.erase(
            words.map { UserKey(app: $0.app, user: $0.user) },
            by: who,
            connection
        )
        _ = try connection.run(events, who)
        _ = try connection.run(filters, Array(who.prefix(2)))
        try FanoutBoundaries.forget(Array(who.prefix(2)), on: connection)
    }

    /// A deletion may arrive after the message of the user's return.
    ///
    /// The second run completes the erasure. Until then no token is valid, however new.
    private static let leaveTombstones = Statement(
        """
        INSERT INTO tombstones AS t (app, subject_hash, deleted_at, returned_at)
        SELECT r.app, r.person, r.said_at, (
            SELECT p.vouched_time FROM recipients p
            WHERE p.app = r.app AND p.user_id = r.user_id AND p.vouched_time > r.said_at OFFSET 0)
        FROM unnest($1::text[], $2::text[], $3::timestamptz[], $4::bytea[]) AS r (app, user_id, said_at, person)
        ORDER BY r.app, r.person
        ON CONFLICT (app, subject_hash) DO UPDATE SET
            deleted_at = greatest(t.deleted_at, excluded.deleted_at),
            returned_at = CASE WHEN greatest(t.returned_at, excluded.returned_at) > greatest(t.deleted_at, excluded.deleted_at)
                THEN greatest(t.returned_at, excluded.returned_at) END,
            recorded_at = now(), completed_at = NULL
        """
    )

    private static let note = Statement(
        """
        INSERT INTO erasures AS e (app, user_id, said_at)
        SELECT r.app, r.user_id, r.said_at
        FROM unnest($1::text[], $2::text[], $3::timestamptz[]) AS r (app, user_id, said_at)
        ORDER BY r.user_id, r.app
        ON CONFLICT (user_id, app) DO UPDATE SET
            said_at = greatest(e.said_at, excluded.said_at), recorded_at = now(), transaction = excluded.transaction
        """
    )

    /// Data older than the deletion is deleted in any case.
    ///
    /// Newer data is deleted unless the app's servers have vouched for the user since.
    private static let owned: [Statement] = [ledger, inbox] + filed + settings + registered

    private static let columns = "unnest($1::text[], $2::text[], $3::timestamptz[], $4::bytea[])"
    private static let row = "r (app, user_id, said_at, person)"

    /// The users' numbers.
    private static let numbers = """
        SELECT p.number, r.said_at, \(ErasedUsers.isGone) AS is_gone
        FROM \(columns) AS \(row) CROSS JOIN LATERAL \(UserKey.number(of: "r")) AS p
        """

    /// A delivery's age is the age of its notification, since its row contains no time of recording.
    private static let ledger = Statement(
        """
        DELETE FROM ledger t USING (\(numbers)) AS gone
        WHERE t.person = ANY (ARRAY[gone.number]) AND (gone.is_gone OR NOT EXISTS (
            SELECT FROM inbox i
            WHERE i.person = t.person AND i.id = t.id AND least(i.said_at, i.created_at) > gone.said_at OFFSET 0))
        """
    )

    private static let inbox = Statement(
        """
        DELETE FROM inbox t USING (\(numbers)) AS gone
        WHERE t.person = ANY (ARRAY[gone.number])
          AND (gone.is_gone OR least(t.said_at, t.created_at) <= gone.said_at)
        """
    )

    private static let filed = [("dead_letters", "first_failed_at"), ("badge_updates", "requested_at")].map {
        table,
        time in
        Statement(
            """
            DELETE FROM \(table) t USING \(columns) AS \(row)
            WHERE t.app || '' = r.app AND t.user_id = ANY (ARRAY[r.user_id])
              AND (t.\(time) <= r.said_at OR \(ErasedUsers.isGone))
            """
        )
    }

    private static let settings = [("recipients", "user_id"), ("notification_preferences", "profile_id")].map {
        table,
        owner in
        Statement(
            """
            DELETE FROM \(table) t USING \(columns) AS \(row)
            WHERE t.app || '' = r.app AND t.\(owner) = ANY (ARRAY[r.user_id])
              AND (t.source_time <= r.said_at OR \(ErasedUsers.isGone))
            """
        )
    }

    /// The app's servers may register a device again before they send the recipient.
    private static let registered = [
        ("push_subscriptions", "profile_id"), ("follows", "user_id"), ("reminders", "user_id"),
    ].map { table, owner in
        Statement(
            """
            DELETE FROM \(table) t USING \(columns) AS \(row)
            WHERE t.app || '' = r.app AND t.\(owner) = ANY (ARRAY[r.user_id])
              AND (t.source_time <= r.said_at OR coalesce(t.vouched_time, '-infinity') <= r.said_at AND \(ErasedUsers.isGone))
            """
        )
    }

    /// Ends the number of a user for whom no rows remain.
    ///
    /// This does not happen at the erasure, since an earlier transaction may still write under the number. The rows of
    /// `people` are locked before the check for remaining rows, so that a concurrent write under a number is seen.
    static func forgetNumbers(_ who: [Parameter], on connection: PostgresConnection) throws(PostgresError) {
        _ = try connection.run(holdNumbers, who)
        _ = try connection.run(endNumbers, who)
    }

    private static let holdNumbers = UserNumbers.hold("FOR UPDATE")

    private static let endNumbers = Statement(
        """
        DELETE FROM people p USING unnest($1::text[], $2::text[]) AS r (app, user_id)
        WHERE p.user_id = ANY (ARRAY[r.user_id]) AND p.app = r.app
          AND NOT EXISTS (SELECT FROM recipients o WHERE o.user_id = r.user_id AND o.app = r.app OFFSET 0)
          AND NOT EXISTS (
              SELECT FROM notification_preferences o WHERE o.profile_id = r.user_id AND o.app = r.app OFFSET 0)
          AND NOT EXISTS (SELECT FROM push_subscriptions o WHERE o.profile_id = r.user_id AND o.app = r.app OFFSET 0)
          AND NOT EXISTS (SELECT FROM inbox o WHERE o.person = p.number OFFSET 0)
          AND NOT EXISTS (SELECT FROM ledger o WHERE o.person = p.number OFFSET 0)
        """
    )

    /// A stored event for several users loses the erased user.
    ///
    /// An event for no other user ends without its content.
    ///
    /// It is found by the user id, not by the app.
    private static let events = Statement(
        """
        UPDATE events e SET
            content = CASE WHEN rest.users <> '[]' THEN jsonb_set(e.content, '{to,users}', rest.users) END,
            body = NULL, content_hash = CASE WHEN rest.users <> '[]' THEN e.content_hash END,
            cancelled_at = CASE WHEN rest.users <> '[]' THEN e.cancelled_at ELSE coalesce(e.cancelled_at, now()) END
        FROM (
            SELECT k.app, k.id, (k.content #> '{to,users}') - array_agg(r.user_id) AS users
            FROM \(columns) AS \(row)
            CROSS JOIN LATERAL (
                SELECT n.app, n.id, n.content, n.created_at FROM events_kept_for(r.user_id) AS f (app, id)
                JOIN events n ON n.app = ANY (ARRAY[f.app]) AND n.id = f.id OFFSET 0
            ) AS k
            WHERE k.app = r.app AND (k.created_at <= r.said_at OR \(ErasedUsers.isGone))
            GROUP BY k.app, k.id, k.content
        ) AS rest
        WHERE e.app = ANY (ARRAY[rest.app]) AND e.id = rest.id
        """
    )

    private static let filters = Statement("SELECT forget_in_filters($1, $2)")
}

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
            let words = try rows.compactMap { (rows, row) throws(PostgresError) -> UserUpdate<UserID>? in
                guard let key = try rows.recipientKey(row) else { return nil }
                return UserUpdate(app: key.app, user: key.user, saidAt: try rows.moment(row, 2), key.user)
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
