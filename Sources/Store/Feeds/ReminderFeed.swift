import BellhopRules
import Postgres

/// Applies `reminder.set` and `reminder.removed`.
enum ReminderFeed {
    static func set(_ words: [UserUpdate<ReminderUpdate>], on connection: PostgresConnection) throws(PostgresError) {
        _ = try connection.run(
            store,
            UserUpdate.who(words) + [
                .textArray(words.map(\.content.id.text)),
                .textArray(words.map(\.content.localTime.description)),
                .textArray(words.map(\.content.days.text)),
                .textArray(words.map { $0.content.timezone?.text }),
                .textArray(words.map(\.content.title)), .textArray(words.map(\.content.body)),
                .booleanArray(words.map { _ in false }), .textArray(words.map { $0.content.type?.text }),
                UserUpdate.vouched(words),
            ]
        )
    }

    /// Removes a reminder's content and keeps the row, so that an earlier `reminder.set` cannot restore it.
    static func remove(_ words: [UserUpdate<ReminderID>], on connection: PostgresConnection) throws(PostgresError) {
        let nothing = Parameter.textArray(words.map { _ in nil })
        _ = try connection.run(
            store,
            UserUpdate.who(words) + [.textArray(words.map(\.content.text))] + Array(repeating: nothing, count: 5)
                + [.booleanArray(words.map { _ in true }), nothing, UserUpdate.vouched(words)]
        )
    }

    /// The condition for a change.
    ///
    /// A repeat of the stored state does not restart the reminder.
    private static let changed = """
        (t.removed_at IS NOT NULL OR (t.local_time, t.days, t.timezone)
            IS DISTINCT FROM (excluded.local_time, excluded.days, excluded.timezone))
        """

    private static let store = Statement(
        """
        INSERT INTO reminders AS t
            (app, user_id, id, local_time, days, timezone, title, body, event_type, removed_at, source_time,
             vouched_time)
        SELECT r.app, r.user_id, r.id, r.local_time, r.days, r.timezone, r.title, r.body, r.event_type,
               CASE WHEN r.removed THEN r.said_at END, r.said_at, r.vouched_at
        FROM unnest($1::text[], $2::text[], $3::timestamptz[], $4::bytea[], $5::text[], $6::text[], $7::text[],
                    $8::text[], $9::text[], $10::text[], $11::boolean[], $12::text[], $13::timestamptz[])
             AS r (app, user_id, said_at, person, id, local_time, days, timezone, title, body, removed, event_type,
                   vouched_at)
        WHERE \(Tombstone.spares("r.person"))
        ORDER BY r.app, r.user_id, r.id
        ON CONFLICT (app, user_id, id) DO UPDATE SET
            local_time = excluded.local_time, days = excluded.days, timezone = excluded.timezone,
            title = excluded.title, body = excluded.body, event_type = excluded.event_type,
            removed_at = excluded.removed_at,
            source_time = excluded.source_time, vouched_time = greatest(t.vouched_time, excluded.vouched_time),
            planned_from = CASE WHEN \(changed) THEN now() ELSE t.planned_from END,
            next_fire_at = CASE WHEN \(changed) THEN NULL ELSE t.next_fire_at END,
            held_until = NULL
            WHERE t.source_time <= excluded.source_time
        """
    )
}
