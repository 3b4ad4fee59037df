-- The worker records and feeds; the API reads a signed-in user's own rows; the operators see all.
GRANT SELECT, INSERT, UPDATE, DELETE ON
    inbox, ledger, badge_updates, events, fanouts, fanout_pages, people, recipients, notification_preferences,
    push_subscriptions, follows, reminders, tombstones, erasures, dead_letters, dead_letter_history, replays,
    replay_items, retired, breakers, provider_budgets
TO bellhop_worker;
GRANT SELECT ON notifications, deliveries TO bellhop_worker;
GRANT SELECT ON schema_migrations, topology_bindings TO bellhop_worker, bellhop_api;

GRANT SELECT ON inbox, notifications, people TO bellhop_api;
GRANT UPDATE (read_at) ON inbox TO bellhop_api;
GRANT SELECT, INSERT, UPDATE ON recipients, notification_preferences, push_subscriptions, follows, reminders
TO bellhop_api;

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
