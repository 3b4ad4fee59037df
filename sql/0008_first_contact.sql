-- admits 7
-- The first accepted push to a device is recorded as a mark in its user's row of `people`: one update of a row that no
-- index and no trigger depends on. Setting reached_at of push_subscriptions, as earlier releases do, changes that row,
-- its index and the user's copy of all devices.

ALTER TABLE people ADD COLUMN reached text;
COMMENT ON COLUMN people.reached IS
    'Marks of the devices that a provider has accepted a push to, separated by spaces, the newest 32.';
COMMENT ON COLUMN people.devices IS
    'JSON: for each active subscription [id, token, platform, provider, permission, environment, keys of a browser, true if it was reached before marks existed, else its mark].';

ALTER TABLE push_subscriptions ADD COLUMN unreached_since timestamptz;
COMMENT ON COLUMN push_subscriptions.unreached_since IS
    'When the device last became unreached; null for never. It is a part of the mark.';
COMMENT ON COLUMN push_subscriptions.reached_at IS
    'When an earlier release first recorded an accepted push to this device; null for devices with a mark. If a provider rejects many devices, only reached devices are evidence about the others.';

-- A mark belongs to one registration: 60 bits of a hash that no client can aim at. Another token or a later time gives
-- another mark, and the device is unreached again.
CREATE FUNCTION device_mark(id text, token text, unreached_since timestamptz) RETURNS text
LANGUAGE sql IMMUTABLE AS $$
    SELECT substr(encode(sha256(convert_to(
        id || ' ' || coalesce(extract(epoch FROM unreached_since)::text, '-') || ' ' || token, 'UTF8')), 'hex'), 1, 15)
$$;

-- A device with another token, platform or environment, and a device that is registered again after its revocation, is
-- unreached until the next accepted push. A restored device, whose revocation was wrong, is not registered again.
CREATE FUNCTION note_unreached() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
    NEW.reached_at := NULL;
    NEW.unreached_since := clock_timestamp();
    RETURN NEW;
END
$$;
CREATE TRIGGER push_subscriptions_unreached
    BEFORE UPDATE OF device_token, platform, environment, revoked_at ON push_subscriptions
    FOR EACH ROW WHEN (
        NEW.device_token IS DISTINCT FROM OLD.device_token OR NEW.platform IS DISTINCT FROM OLD.platform
        OR NEW.environment IS DISTINCT FROM OLD.environment
        OR (OLD.revoked_at IS NOT NULL AND NEW.revoked_at IS NULL AND NEW.source_time > OLD.source_time)
    )
    EXECUTE FUNCTION note_unreached();

-- The platforms of an app and provider that have reached devices. Rows of push_subscriptions with reached_at count as
-- well.
CREATE TABLE reached_platforms (
    app        text COLLATE "C" NOT NULL,
    provider   text COLLATE "C" NOT NULL,
    platform   text COLLATE "C" NOT NULL,
    reached_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (app, provider, platform)
);
GRANT SELECT, INSERT ON reached_platforms TO bellhop_worker;
GRANT SELECT, INSERT, UPDATE, DELETE ON reached_platforms TO bellhop_admin;
REVOKE EXECUTE ON FUNCTION note_unreached() FROM PUBLIC;

-- Locks the row before it reads the new content: otherwise, two concurrent feeds of a user would each copy the state
-- before the other's update. A row that is deleted meanwhile is created again. Each user is found by the keys, whatever
-- sizes of the tables the server estimates.
CREATE OR REPLACE FUNCTION copy_to_people(apps text[], users text[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    wanted bigint := (SELECT count(*) FROM (SELECT DISTINCT * FROM unnest(apps, users) AS w (app, user_id)) AS people);
    locked bigint;
BEGIN
    LOOP
        INSERT INTO people (app, user_id)
        SELECT DISTINCT w.app, w.user_id
        FROM unnest(apps, users) AS w (app, user_id)
        WHERE NOT EXISTS (SELECT FROM people p WHERE p.user_id = w.user_id AND p.app = w.app OFFSET 0)
        ORDER BY w.user_id, w.app
        ON CONFLICT (user_id, app) DO NOTHING;
        PERFORM FROM (
            SELECT p.number FROM (SELECT DISTINCT * FROM unnest(apps, users) AS w (app, user_id)) AS w
            JOIN people p ON p.user_id = ANY (ARRAY[w.user_id]) AND p.app = w.app
            ORDER BY p.user_id || '', p.app || ''
            FOR NO KEY UPDATE OF p
        ) AS held;
        GET DIAGNOSTICS locked = ROW_COUNT;
        EXIT WHEN locked >= wanted;
    END LOOP;
    UPDATE people p
    SET push_enabled = s.push_enabled, email_enabled = s.email_enabled, locale = s.locale, timezone = s.timezone,
        email = s.email, preferences = s.preferences, devices = s.devices
    FROM (
        SELECT w.app, w.user_id, coalesce(r.push_enabled, true) AS push_enabled,
               coalesce(r.email_enabled, true) AND NOT EXISTS (
                   SELECT FROM mail_opt_outs o
                   WHERE o.app = w.app AND o.address_hash = email_hash(w.app, r.email)
               ) AS email_enabled, r.locale, r.timezone, r.email, f.preferences, d.devices
        FROM (SELECT DISTINCT * FROM unnest(apps, users) AS w (app, user_id)) AS w
        LEFT JOIN LATERAL (
            SELECT * FROM recipients WHERE user_id = w.user_id AND app = w.app OFFSET 0
        ) AS r ON true
        LEFT JOIN LATERAL (
            SELECT preferences::text FROM notification_preferences
            WHERE profile_id = w.user_id AND app = w.app OFFSET 0
        ) AS f ON true
        CROSS JOIN LATERAL (
            SELECT json_agg(json_build_array(
                       id, device_token, platform, provider, permission, environment,
                       CASE provider WHEN 'webpush' THEN subscription END,
                       CASE WHEN reached_at IS NULL THEN to_json(device_mark(id, device_token, unreached_since))
                           ELSE to_json(true) END
                   ) ORDER BY id)::text AS devices
            FROM push_subscriptions
            WHERE profile_id = w.user_id AND app = w.app AND revoked_at IS NULL
        ) AS d
    ) AS s
    WHERE p.user_id = ANY (ARRAY[s.user_id]) AND p.app = s.app
      AND (p.push_enabled, p.email_enabled, p.locale, p.timezone, p.email, p.preferences, p.devices)
          IS DISTINCT FROM
          (s.push_enabled, s.email_enabled, s.locale, s.timezone, s.email, s.preferences, s.devices);
END
$$;

-- A replaced function has lost this setting. It has its owner's rights, and a caller could create a temporary table of
-- any name.
DO $$
BEGIN
    EXECUTE format(
        'ALTER FUNCTION copy_to_people(text[], text[]) SET search_path TO %I, pg_temp', current_schema()
    );
END
$$;
