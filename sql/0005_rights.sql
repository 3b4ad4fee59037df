-- The worker records and feeds; the API reads a signed-in user's own rows; the operators see all.
GRANT SELECT, INSERT, UPDATE, DELETE ON
    notifications, deliveries, events, recipients, notification_preferences, push_subscriptions, follows, reminders,
    tombstones, dead_letters
TO bellhop_worker;
GRANT SELECT ON topology_bindings, schema_migrations TO bellhop_worker, bellhop_api;

GRANT SELECT ON notifications TO bellhop_api;
GRANT UPDATE (read_at) ON notifications TO bellhop_api;
GRANT SELECT, INSERT, UPDATE ON recipients, notification_preferences, push_subscriptions, follows, reminders
TO bellhop_api;

DO $$
BEGIN
    EXECUTE format(
        'GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA %I TO bellhop_admin', current_schema()
    );
END
$$;

-- A signed-in user reaches only their own rows. The API says who that is for each transaction:
--   SELECT set_config('bellhop.app', …, true), set_config('bellhop.user', …, true)
-- Without it nothing is visible. FORCE, so that not even the owner of the tables slips by.
DO $$
DECLARE
    owned record;
BEGIN
    FOR owned IN
        SELECT * FROM (VALUES
            ('notifications', 'user_id'), ('deliveries', 'user_id'), ('recipients', 'user_id'),
            ('notification_preferences', 'profile_id'), ('push_subscriptions', 'profile_id'),
            ('follows', 'user_id'), ('reminders', 'user_id')
        ) AS tables (name, owner_column)
    LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', owned.name);
        EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', owned.name);
        EXECUTE format(
            'CREATE POLICY house ON %I TO bellhop_worker, bellhop_admin USING (true) WITH CHECK (true)', owned.name
        );
        EXECUTE format(
            'CREATE POLICY own_rows ON %I TO bellhop_api '
            'USING (app = current_setting(''bellhop.app'', true) AND %I = current_setting(''bellhop.user'', true)) '
            'WITH CHECK (app = current_setting(''bellhop.app'', true) AND %I = current_setting(''bellhop.user'', true))',
            owned.name, owned.owner_column, owned.owner_column
        );
    END LOOP;
END
$$;
