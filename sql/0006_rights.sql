-- Workers record notifications and apply feeds; the API reads only a signed-in user's rows; operators see all rows.
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

-- Updates by a signed-in user use the statements of the feeds, which read tombstones, write some, and lock the user's
-- row of `people`. The lock requires the right to update one column: `locale`, which the API never reads from this
-- table.
GRANT SELECT ON inbox, notifications, people TO bellhop_api;
GRANT UPDATE (read_at, seen_at, archived_at, snoozed_until) ON inbox TO bellhop_api;
GRANT SELECT, INSERT, UPDATE ON recipients, notification_preferences, push_subscriptions, follows, reminders, tombstones
TO bellhop_api;
GRANT UPDATE (locale) ON people TO bellhop_api;
-- Listeners are notified that an inbox has changed, and get no other data.
GRANT SELECT ON listeners TO bellhop_worker;
GRANT SELECT, INSERT, UPDATE, DELETE ON listeners TO bellhop_api;

-- Revokes all rows of a token except the row that was registered last. It has the owner's rights: the device may have
-- belonged to a user whose rows the signed-in user must not see.
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

-- Adds a new device to the user's deliveries that still wait for quiet hours or digests: the rules run again for
-- deferred deliveries when they are due. It has the owner's rights, since signed-in users have no access to the ledger.
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

-- No role can set the log-in of an action, and no role can delete an action.
REVOKE ALL ON audit FROM bellhop_admin;
GRANT SELECT ON audit TO bellhop_worker, bellhop_admin;
GRANT INSERT (operator, act, filter, items, because, replay_id) ON audit TO bellhop_worker, bellhop_admin;

-- Triggers run these functions without the right to execute them. With this right, a role could attach them to other
-- tables.
REVOKE EXECUTE ON FUNCTION copy_to_people(text[], text[]), note_people(), note_badge_updates() FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION settle_token(text, text), join_late_devices(text[], text[], text[], text[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION settle_token(text, text), join_late_devices(text[], text[], text[], text[])
TO bellhop_worker, bellhop_api;
REVOKE EXECUTE ON FUNCTION opt_out_of_mail(text, text, bytea) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION opt_out_of_mail(text, text, bytea) TO bellhop_api;
REVOKE EXECUTE ON FUNCTION revoke_stale_push_subscriptions(integer), forget_in_filters(text[], text[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION revoke_stale_push_subscriptions(integer), forget_in_filters(text[], text[])
TO bellhop_worker, bellhop_admin;

-- A signed-in user can access only their own rows; without a sign-in, no row is visible. FORCE applies this to the
-- owner of the tables, too.
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
            -- Written so that no index serves it: queries look for one tombstone, and never for all of an app.
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

-- Functions with their owner's rights search temporary tables last, since a caller could create one of any name.
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
