import BellhopRules
import Postgres

/// `recipient.deleted`: a tombstone for the person, and an end to everything that names them.
enum Erasure {
    /// The tombstone first, so that whatever begins from now on sees it; then everything that is older.
    ///
    /// What had begun before may still write. So the person is noted for ``ErasureBook``, and for that long only.
    static func run(_ words: [Word<UserID>], on connection: PostgresConnection) throws(PostgresError) {
        let who = Word.who(words)
        _ = try connection.run(leaveTombstones, who)
        _ = try connection.run(note, Array(who.prefix(3)))
        try takeOut(words, on: connection)
    }

    /// Everything but the tombstone; a second time it finds what has been written meanwhile.
    static func takeOut(_ words: [Word<UserID>], on connection: PostgresConnection) throws(PostgresError) {
        let who = Array(Word.who(words).prefix(3))
        for statement in owned { _ = try connection.run(statement, who) }
        try LettersOfErased.erase(
            words.map { RecipientKey(app: $0.app, user: $0.user) },
            by: Word.who(words),
            connection
        )
        _ = try connection.run(events, who)
        _ = try connection.run(filters, Array(who.prefix(2)))
    }

    /// A deletion may come after the word of the person's return.
    private static let leaveTombstones = Statement(
        """
        INSERT INTO tombstones AS t (app, subject_hash, deleted_at, returned_at)
        SELECT r.app, r.person, r.said_at, (
            SELECT p.source_time FROM recipients p
            WHERE p.app = r.app AND p.user_id = r.user_id AND p.source_time > r.said_at OFFSET 0)
        FROM unnest($1::text[], $2::text[], $3::timestamptz[], $4::bytea[]) AS r (app, user_id, said_at, person)
        ORDER BY r.app, r.person
        ON CONFLICT (app, subject_hash) DO UPDATE SET
            deleted_at = greatest(t.deleted_at, excluded.deleted_at),
            returned_at = CASE WHEN greatest(t.returned_at, excluded.returned_at) > greatest(t.deleted_at, excluded.deleted_at)
                THEN greatest(t.returned_at, excluded.returned_at) END,
            recorded_at = now()
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

    /// Rows that carry a source's time go where it is not newer than the deletion; the others go with the person, unless
    /// the person has been fed anew since.
    private static let owned: [Statement] =
        ["inbox", "ledger"].map { table in
            Statement(
                """
                DELETE FROM \(table) t
                USING (
                    SELECT p.number
                    FROM unnest($1::text[], $2::text[], $3::timestamptz[]) AS r (app, user_id, said_at)
                    CROSS JOIN LATERAL \(People.number(of: "r")) AS p
                    WHERE \(isGone)
                ) AS gone
                WHERE t.person = ANY (ARRAY[gone.number])
                """
            )
        }
        + ["dead_letters", "badge_updates"].map { table in
            Statement(
                """
                DELETE FROM \(table) t
                USING unnest($1::text[], $2::text[], $3::timestamptz[]) AS r (app, user_id, said_at)
                WHERE t.app || '' = r.app AND t.user_id = ANY (ARRAY[r.user_id]) AND \(isGone)
                """
            )
        }
        + [
            ("recipients", "user_id"), ("notification_preferences", "profile_id"), ("push_subscriptions", "profile_id"),
            ("follows", "user_id"), ("reminders", "user_id"),
        ].map { table, owner in
            Statement(
                """
                DELETE FROM \(table) t
                USING unnest($1::text[], $2::text[], $3::timestamptz[]) AS r (app, user_id, said_at)
                WHERE t.app || '' = r.app AND t.\(owner) = ANY (ARRAY[r.user_id]) AND t.source_time <= r.said_at
                """
            )
        }

    /// The number of somebody of whom there is nothing left.
    ///
    /// Not at the erasure itself: what had begun before it may still write under the number.
    /// The rows are locked before anybody looks what is left, so that what is being written under a number is seen.
    static func forgetNumbers(_ who: [Parameter], on connection: PostgresConnection) throws(PostgresError) {
        _ = try connection.run(holdNumbers, who)
        _ = try connection.run(endNumbers, who)
    }

    private static let holdNumbers = People.hold("FOR UPDATE")

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

    private static let isGone = """
        NOT EXISTS (
            SELECT FROM recipients p
            WHERE p.app = r.app AND p.user_id = r.user_id AND p.source_time > r.said_at OFFSET 0)
        """

    /// An event that is kept for several people loses the one; one that was for nobody else ends without its content.
    ///
    /// It is found by the user, and not by the app.
    private static let events = Statement(
        """
        UPDATE events e SET
            content = CASE WHEN rest.users <> '[]' THEN jsonb_set(e.content, '{to,users}', rest.users) END,
            body = NULL, content_hash = CASE WHEN rest.users <> '[]' THEN e.content_hash END,
            cancelled_at = CASE WHEN rest.users <> '[]' THEN e.cancelled_at ELSE coalesce(e.cancelled_at, now()) END
        FROM (
            SELECT k.app, k.id, (k.content #> '{to,users}') - array_agg(r.user_id) AS users
            FROM unnest($1::text[], $2::text[], $3::timestamptz[]) AS r (app, user_id, said_at)
            CROSS JOIN LATERAL (
                SELECT n.app, n.id, n.content FROM events_kept_for(r.user_id) AS f (app, id)
                JOIN events n ON n.app = ANY (ARRAY[f.app]) AND n.id = f.id OFFSET 0
            ) AS k
            WHERE k.app = r.app AND \(isGone)
            GROUP BY k.app, k.id, k.content
        ) AS rest
        WHERE e.app = ANY (ARRAY[rest.app]) AND e.id = rest.id
        """
    )

    private static let filters = Statement("SELECT forget_in_filters($1, $2)")
}
