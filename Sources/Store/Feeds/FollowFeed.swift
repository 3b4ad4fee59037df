import BellhopRules
import Postgres

/// `follow.added` and `follow.removed`.
enum FollowFeed {
    static func add(_ words: [Word<FollowUpdate>], on connection: PostgresConnection) throws(PostgresError) {
        let who = Word.who(words)
        let topic: Parameter = .textArray(words.map(\.content.topic.text))
        _ = try connection.run(seed, who + [topic])
        _ = try connection.run(
            update,
            Array(who.prefix(3)) + [
                topic,
                .textArray(words.map { $0.content.role.value?.text }), .booleanArray(words.map(\.content.role.isGiven)),
                .booleanArray(words.map(\.content.muted.value)), .booleanArray(words.map(\.content.muted.isGiven)),
            ]
        )
    }

    static func remove(_ words: [Word<Topic>], on connection: PostgresConnection) throws(PostgresError) {
        _ = try connection.run(remove, Word.who(words) + [.textArray(words.map(\.content.text))])
    }

    private static let seed = Statement(
        """
        INSERT INTO follows (app, user_id, topic, since, source_time)
        SELECT r.app, r.user_id, r.topic, r.said_at, '-infinity'
        FROM unnest($1::text[], $2::text[], $3::timestamptz[], $4::bytea[], $5::text[])
             AS r (app, user_id, said_at, person, topic)
        WHERE \(Tombstone.spares("r.person"))
        ORDER BY r.app, r.user_id, r.topic
        ON CONFLICT (app, user_id, topic) DO NOTHING
        """
    )

    private static let update = Statement(
        """
        UPDATE follows t SET
            role = CASE WHEN r.role_given THEN r.role ELSE t.role END,
            muted = CASE WHEN r.muted_given THEN coalesce(r.muted, false) ELSE t.muted END,
            since = CASE WHEN t.removed_at IS NULL THEN t.since ELSE r.said_at END,
            removed_at = NULL, source_time = r.said_at
        FROM unnest($1::text[], $2::text[], $3::timestamptz[], $4::text[], $5::text[], $6::boolean[], $7::boolean[],
                    $8::boolean[])
             AS r (app, user_id, said_at, topic, role, role_given, muted, muted_given)
        WHERE t.app = r.app AND t.user_id = ANY (ARRAY[r.user_id]) AND t.topic = r.topic AND t.source_time <= r.said_at
        """
    )

    /// Also for a follow that nobody has heard of yet: its `follow.added` may still be under way.
    private static let remove = Statement(
        """
        INSERT INTO follows (app, user_id, topic, since, removed_at, source_time)
        SELECT r.app, r.user_id, r.topic, r.said_at, r.said_at, r.said_at
        FROM unnest($1::text[], $2::text[], $3::timestamptz[], $4::bytea[], $5::text[])
             AS r (app, user_id, said_at, person, topic)
        WHERE \(Tombstone.spares("r.person"))
        ORDER BY r.app, r.user_id, r.topic
        ON CONFLICT (app, user_id, topic) DO UPDATE
            SET removed_at = excluded.removed_at, source_time = excluded.source_time
            WHERE follows.source_time <= excluded.source_time
        """
    )
}
