import BellhopRules
import Postgres

/// Applies `recipient.upserted`; ``Erasure`` applies `recipient.deleted`.
enum RecipientFeed {
    static func upsert(_ words: [UserUpdate<RecipientUpdate>], on connection: PostgresConnection) throws(PostgresError)
    {
        let who = UserUpdate.who(words)
        let vouched = UserUpdate.vouched(words)
        _ = try connection.run(welcomeBack, [who[0], vouched, who[3]])
        try takeBackOptOuts(words.filter { !$0.isFromClient && $0.content.emailEnabled.value == true }, on: connection)
        _ = try connection.run(seed, who)
        let moved = try moved(words.filter { $0.content.timezone.isGiven }, on: connection)
        _ = try connection.run(
            update,
            Array(who.prefix(3)) + [
                .textArray(words.map { $0.content.locale.value?.text }),
                .booleanArray(words.map(\.content.locale.isGiven)),
                .textArray(words.map { $0.content.timezone.value?.text }),
                .booleanArray(words.map(\.content.timezone.isGiven)),
                .textArray(words.map { $0.content.email.value?.text }),
                .booleanArray(words.map(\.content.email.isGiven)),
                .booleanArray(words.map(\.content.pushEnabled.value)),
                .booleanArray(words.map(\.content.pushEnabled.isGiven)),
                .booleanArray(words.map(\.content.emailEnabled.value)),
                .booleanArray(words.map(\.content.emailEnabled.isGiven)),
                vouched,
                .booleanArray(words.map(\.isDefault)),
            ]
        )
        if !moved.isEmpty { _ = try connection.run(replan, Array(UserUpdate.who(moved).prefix(2))) }
        let documents = words.filter { $0.content.preferences.isGiven }
        guard !documents.isEmpty else { return }
        _ = try connection.run(
            preferences,
            UserUpdate.who(documents) + [
                // The JSON value null stands for "cleared": the catalogue's defaults are in effect again.
                .jsonArray(documents.map { $0.content.preferences.value?.canonicalBytes ?? Array("null".utf8) })
            ]
        )
        _ = try PauseRelease.run(Array(UserUpdate.who(documents).prefix(2)), on: connection)
    }

    /// Returns the updates that change their users' time zone, and locks the users' rows until the end of the
    /// transaction.
    ///
    /// It runs before the rows are written. Without the locks, another transaction could change a zone meanwhile.
    private static func moved(
        _ words: [UserUpdate<RecipientUpdate>],
        on connection: PostgresConnection
    ) throws(PostgresError) -> [UserUpdate<RecipientUpdate>] {
        guard !words.isEmpty else { return [] }
        let zones: [Parameter] = [
            .textArray(words.map { $0.content.timezone.value?.text }), .booleanArray(words.map(\.isDefault)),
        ]
        let rows = try connection.run(zoneChanges, Array(UserUpdate.who(words).prefix(3)) + zones)
        var moved: [UserUpdate<RecipientUpdate>] = []
        for row in rows.indices where try rows.boolean(row, 1) {
            moved.append(words[Int(try rows.integer(row, 0)) - 1])
        }
        return moved
    }

    private static let zoneChanges = Statement(
        """
        SELECT r.place, \(takes("timezone")) AND t.timezone IS DISTINCT FROM r.timezone AS moves
        FROM (
            SELECT *, true AS timezone_given
            FROM unnest($1::text[], $2::text[], $3::timestamptz[], $4::text[], $5::boolean[])
                 WITH ORDINALITY AS u (app, user_id, said_at, timezone, is_default, place)
        ) AS r
        JOIN recipients t ON t.app || '' = r.app AND t.user_id = ANY (ARRAY[r.user_id])
        ORDER BY r.app, r.user_id
        FOR UPDATE OF t
        """
    )

    /// Ends an opt-out that a user made by a mail's link, when the app's servers report that the address may be mailed.
    ///
    /// It runs before the user's row is written, so that the write finds that the opt-out has ended.
    private static func takeBackOptOuts(
        _ words: [UserUpdate<RecipientUpdate>],
        on connection: PostgresConnection
    ) throws(PostgresError) {
        guard !words.isEmpty else { return }
        let addresses: [Parameter] = [
            .textArray(words.map { $0.content.email.value?.text }), .booleanArray(words.map(\.content.email.isGiven)),
        ]
        _ = try connection.run(takeBack, Array(UserUpdate.who(words).prefix(3)) + addresses)
    }

    private static let takeBack = Statement(
        """
        DELETE FROM mail_opt_outs o
        USING (
            SELECT r.app, r.said_at, email_hash(r.app, CASE WHEN r.email_given THEN r.email ELSE p.email END) AS address
            FROM unnest($1::text[], $2::text[], $3::timestamptz[], $4::text[], $5::boolean[])
                 AS r (app, user_id, said_at, email, email_given)
            LEFT JOIN LATERAL (
                SELECT email FROM recipients WHERE user_id = r.user_id AND app = r.app OFFSET 0
            ) AS p ON true
            OFFSET 0
        ) AS w
        WHERE o.app = ANY (ARRAY[w.app]) AND o.address_hash = w.address AND o.opted_out_at < w.said_at
        """
    )

    /// Only the app's servers bring a user back: a client that is still signed in may act without the user's intention.
    private static let welcomeBack = Statement(
        """
        UPDATE tombstones t SET returned_at = greatest(t.returned_at, r.vouched_at)
        FROM unnest($1::text[], $2::timestamptz[], $3::bytea[]) AS r (app, vouched_at, person)
        WHERE t.app = ANY (ARRAY[r.app]) AND t.subject_hash = r.person AND t.deleted_at < r.vouched_at
        """
    )

    private static let seed = Statement(
        """
        INSERT INTO recipients (app, user_id, source_time)
        SELECT r.app, r.user_id, '-infinity'
        FROM unnest($1::text[], $2::text[], $3::timestamptz[], $4::bytea[]) AS r (app, user_id, said_at, person)
        WHERE \(Tombstone.spares("r.person"))
        ORDER BY r.app, r.user_id
        ON CONFLICT (app, user_id) DO NOTHING
        """
    )

    /// Finds rows by the user alone, so that the planner never reads all rows of an app.
    ///
    /// An older update from the app's servers only changes the time at which they vouched for the user. A device's
    /// report changes no value that was set, and does not make any other update older. It writes nothing if it repeats
    /// the last one.
    private static let update = Statement(
        """
        UPDATE recipients t SET
            locale = CASE WHEN \(takes("locale")) THEN r.locale ELSE t.locale END,
            locale_is_default = CASE WHEN \(takes("locale")) THEN r.is_default ELSE t.locale_is_default END,
            timezone = CASE WHEN \(takes("timezone")) THEN r.timezone ELSE t.timezone END,
            timezone_is_default = CASE WHEN \(takes("timezone")) THEN r.is_default ELSE t.timezone_is_default END,
            email = CASE WHEN r.email_given AND \(isNewer) THEN r.email ELSE t.email END,
            push_enabled = CASE WHEN r.push_given AND \(isNewer) THEN coalesce(r.push, true) ELSE t.push_enabled END,
            email_enabled = CASE WHEN r.mail_given AND \(isNewer) THEN coalesce(r.mail, true) ELSE t.email_enabled END,
            source_time = greatest(t.source_time, CASE WHEN r.is_default THEN 'epoch' ELSE r.said_at END),
            vouched_time = greatest(t.vouched_time, r.vouched_at),
            updated_at = CASE WHEN \(isNewer) THEN now() ELSE t.updated_at END
        FROM unnest($1::text[], $2::text[], $3::timestamptz[], $4::text[], $5::boolean[], $6::text[], $7::boolean[],
                    $8::text[], $9::boolean[], $10::boolean[], $11::boolean[], $12::boolean[], $13::boolean[],
                    $14::timestamptz[], $15::boolean[])
             AS r (app, user_id, said_at, locale, locale_given, timezone, timezone_given, email, email_given,
                   push, push_given, mail, mail_given, vouched_at, is_default)
        WHERE t.app || '' = r.app AND t.user_id = ANY (ARRAY[r.user_id])
          AND (\(isNewer) AND (NOT r.is_default OR \(changes("locale")) OR \(changes("timezone")))
               OR coalesce(t.vouched_time < r.vouched_at, r.vouched_at IS NOT NULL))
        """
    )

    private static let isNewer = "t.source_time <= r.said_at"

    /// The condition under which a column takes the value of an update.
    private static func takes(_ column: String) -> String {
        """
        r.\(column)_given AND \(isNewer) AND (NOT r.is_default OR t.\(column) IS NULL OR t.\(column)_is_default)
        """
    }

    /// The condition under which a device's report changes a column or marks it as reported.
    private static func changes(_ column: String) -> String {
        "(\(takes(column)) AND (t.\(column) IS DISTINCT FROM r.\(column) OR NOT t.\(column)_is_default))"
    }

    /// Plans reminders again that follow the user's time zone.
    private static let replan = Statement(
        """
        UPDATE reminders t SET next_fire_at = NULL, held_until = NULL
        FROM unnest($1::text[], $2::text[]) AS r (app, user_id)
        WHERE t.app = r.app AND t.user_id = ANY (ARRAY[r.user_id]) AND t.timezone IS NULL
        """
    )

    /// Keeps a stored pause and stored choices for e-mail if the update does not have these members; null removes them.
    ///
    /// The user is locked, so that the stored document is the latest one.
    private static let preferences = Statement(
        """
        INSERT INTO notification_preferences (app, profile_id, preferences, source_time)
        SELECT r.app, r.user_id,
               CASE WHEN r.preferences = 'null' THEN r.preferences ELSE jsonb_strip_nulls(
                   jsonb_build_object('emailToggles', s.preferences -> 'emailToggles',
                                      'pausedUntil', s.preferences -> 'pausedUntil') || r.preferences
               ) END, r.said_at
        FROM unnest($1::text[], $2::text[], $3::timestamptz[], $4::bytea[], $5::jsonb[])
             AS r (app, user_id, said_at, person, preferences)
        LEFT JOIN LATERAL (
            SELECT preferences FROM notification_preferences WHERE profile_id = r.user_id AND app = r.app OFFSET 0
        ) AS s ON true
        WHERE \(Tombstone.spares("r.person"))
        ORDER BY r.app, r.user_id
        ON CONFLICT (app, profile_id) DO UPDATE
            SET preferences = excluded.preferences, source_time = excluded.source_time, updated_at = now()
            WHERE notification_preferences.source_time <= excluded.source_time
        """
    )
}
