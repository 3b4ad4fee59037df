-- The worker records and feeds; the API reads a signed-in user's own rows; the operators see all.
GRANT SELECT, INSERT, UPDATE, DELETE ON
    inbox, ledger, badge_updates, events, fanouts, fanout_pages, people, recipients, notification_preferences,
    push_subscriptions, follows, reminders, tombstones, erasures, dead_letters, dead_letter_history, replays,
    replay_items, retired, breakers, provider_budgets
TO bellhop_worker;
GRANT SELECT ON notifications, deliveries TO bellhop_worker;
GRANT SELECT ON holds TO bellhop_worker;
GRANT SELECT, DELETE ON mail_opt_outs TO bellhop_worker;
GRANT SELECT, INSERT, UPDATE, DELETE ON processes, claimants TO bellhop_worker;
GRANT SELECT ON schema_migrations, topology_bindings TO bellhop_worker, bellhop_api;

-- What a signed-in user says of themselves goes through the statements of the feeds, which look for tombstones, leave some,
-- and lock the user's row of `people` by a column that nobody reads of it.
GRANT SELECT ON inbox, notifications, people TO bellhop_api;
GRANT UPDATE (read_at, seen_at, archived_at, snoozed_until) ON inbox TO bellhop_api;
GRANT SELECT, INSERT, UPDATE ON recipients, notification_preferences, push_subscriptions, follows, reminders, tombstones
TO bellhop_api;
GRANT UPDATE (locale) ON people TO bellhop_api;
-- Who listens is told of inboxes that have changed, and no more than that they have.
GRANT SELECT ON listeners TO bellhop_worker;
GRANT SELECT, INSERT, UPDATE, DELETE ON listeners TO bellhop_api;

-- Of the rows of one token all but the one registered last are revoked. With the owner's rights: a device may come from
-- somebody whose rows the signed-in user must not see.
CREATE FUNCTION settle_token(wanted_app text, wanted_token text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
BEGIN
    UPDATE push_subscriptions t SET revoked_at = o.registered_at, revoke_reason = 'token-moved'
    FROM push_subscriptions o
    WHERE o.app || '' = wanted_app AND md5(o.device_token) = md5(wanted_token) AND o.device_token = wanted_token
      AND t.app || '' = wanted_app AND md5(t.device_token) = md5(wanted_token) AND t.device_token = wanted_token
      AND t.revoked_at IS NULL AND (t.registered_at, t.profile_id, t.id) < (o.registered_at, o.profile_id, o.id);
END
$$;

-- A device that is new has a part in what still waits for its user's quiet hours or digests: what was to be deferred is
-- decided anew when its time has come. With the owner's rights: the ledger is closed to signed-in users.
CREATE FUNCTION join_late_devices(apps text[], users text[], ids text[], waits text[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
BEGIN
    INSERT INTO ledger (person, id, target, state, reason, due_at, decision, urgency)
    SELECT DISTINCT ON (d.person, d.id, s.id)
           d.person, d.id, target_number(s.id), d.state, d.reason, greatest(d.due_at, now()), d.decision, d.urgency
    FROM unnest(apps, users, ids) AS r (app, user_id, id)
    JOIN push_subscriptions s
        ON s.app || '' = r.app AND s.profile_id = ANY (ARRAY[r.user_id]) AND s.id = r.id AND s.revoked_at IS NULL
    JOIN people p ON p.user_id = ANY (ARRAY[r.user_id]) AND p.app = r.app
    CROSS JOIN LATERAL (
        SELECT * FROM ledger
        WHERE person = p.number AND due_at IS NOT NULL AND sent_at IS NULL
        ORDER BY person, due_at
    ) AS d
    WHERE d.target <> 0 AND d.state = 'w' AND d.reason = ANY (waits)
    ORDER BY d.person, d.id, s.id, d.due_at
    ON CONFLICT DO NOTHING;
END
$$;

DO $$
BEGIN
    EXECUTE format(
        'GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA %I TO bellhop_admin', current_schema()
    );
END
$$;

-- Nobody writes the name of the log-in behind an act, and nobody takes an act back.
REVOKE ALL ON audit FROM bellhop_admin;
GRANT SELECT ON audit TO bellhop_worker, bellhop_admin;
GRANT INSERT (operator, act, filter, items, because, replay_id) ON audit TO bellhop_worker, bellhop_admin;

-- What triggers run they run without being allowed to; anybody else could hang them on a table of their own.
REVOKE EXECUTE ON FUNCTION copy_to_people(text[], text[]), note_people(), note_badge_updates() FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION settle_token(text, text), join_late_devices(text[], text[], text[], text[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION settle_token(text, text), join_late_devices(text[], text[], text[], text[])
TO bellhop_worker, bellhop_api;
REVOKE EXECUTE ON FUNCTION opt_out_of_mail(text, text, bytea) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION opt_out_of_mail(text, text, bytea) TO bellhop_api;
REVOKE EXECUTE ON FUNCTION revoke_stale_push_subscriptions(integer), forget_in_filters(text[], text[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION revoke_stale_push_subscriptions(integer), forget_in_filters(text[], text[])
TO bellhop_worker, bellhop_admin;

-- A signed-in user reaches only their own rows; nothing is visible where nobody is signed in. FORCE, so that not even the
-- owner of the tables slips by.
DO $$
DECLARE
    owned record;
BEGIN
    FOR owned IN
        SELECT * FROM (VALUES
            ('inbox', 'person = (SELECT signed_in_person())'),
            ('ledger', 'person = (SELECT signed_in_person())'),
            ('people', 'app = %1$s AND user_id = %2$s'),
            ('recipients', 'app = %1$s AND user_id = %2$s'),
            ('notification_preferences', 'app = %1$s AND profile_id = %2$s'),
            ('push_subscriptions', 'app = %1$s AND profile_id = %2$s'),
            ('follows', 'app = %1$s AND user_id = %2$s'),
            -- Hidden from the index: one tombstone is looked for, and never all of an app.
            ('tombstones', 'app || '''' = %1$s'),
            ('reminders', 'app = %1$s AND user_id = %2$s')
        ) AS tables (name, own)
    LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', owned.name);
        EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', owned.name);
        EXECUTE format(
            'CREATE POLICY house ON %I TO bellhop_worker, bellhop_admin, CURRENT_USER USING (true) WITH CHECK (true)',
            owned.name
        );
        EXECUTE format(
            'CREATE POLICY own_rows ON %1$I TO bellhop_api USING (%2$s) WITH CHECK (%2$s)', owned.name,
            format(owned.own, 'current_setting(''bellhop.app'', true)', 'current_setting(''bellhop.user'', true)')
        );
    END LOOP;
END
$$;

-- What runs with its owner's rights looks temporary tables up last: a caller could make one of any name.
DO $$
DECLARE
    trusted regprocedure;
BEGIN
    FOR trusted IN
        SELECT p.oid FROM pg_proc p WHERE p.prosecdef AND p.pronamespace = current_schema()::regnamespace
    LOOP
        EXECUTE format('ALTER FUNCTION %s SET search_path TO %I, pg_temp', trusted, current_schema());
    END LOOP;
END
$$;
