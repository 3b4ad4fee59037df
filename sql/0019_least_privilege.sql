-- Whether a push to a device was ever taken: only such devices speak for the others when a provider refuses many.
ALTER TABLE push_subscriptions ADD COLUMN reached_at timestamptz;
COMMENT ON COLUMN push_subscriptions.reached_at IS
    'When a push to this device, as it is registered now, was first taken; null where none was.';
CREATE INDEX push_subscriptions_reached ON push_subscriptions (app, provider, platform) WHERE reached_at IS NOT NULL;

-- Of a browser's PushSubscription only what messages to it are made with: whoever registers one may write anything beside.
UPDATE push_subscriptions SET subscription = CASE
    WHEN provider = 'webpush' AND jsonb_typeof(subscription -> 'keys') = 'object'
            AND length(subscription #>> '{keys,p256dh}') <= 256 AND length(subscription #>> '{keys,auth}') <= 256
        THEN jsonb_strip_nulls(jsonb_build_object(
            'endpoint', device_token,
            'keys', jsonb_build_object('p256dh', subscription #> '{keys,p256dh}', 'auth', subscription #> '{keys,auth}'),
            'vapidKeyID', CASE WHEN length(subscription ->> 'vapidKeyID') <= 64 THEN subscription -> 'vapidKeyID' END
        ))
    END
WHERE subscription IS NOT NULL;

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

-- An operator's name in the audit is their own word. The log-in behind it is the database's, and nobody may write it.
ALTER TABLE audit ADD COLUMN login text COLLATE "C";
ALTER TABLE audit ALTER COLUMN login SET DEFAULT session_user;
COMMENT ON COLUMN audit.login IS 'The database log-in that the act came through; null for acts from before it was kept.';
REVOKE INSERT ON audit FROM bellhop_worker, bellhop_admin;
GRANT INSERT (operator, act, filter, items, because, replay_id) ON audit TO bellhop_worker, bellhop_admin;
