-- Users, and their data except the inbox. Every update from a feed has its source time: an older update never
-- overwrites a newer one. Keys begin with the user, whose first bytes differ, since the app is equal at nearly every
-- step of an index descent. Keys compare byte by byte.

CREATE TABLE recipients (
    app           text COLLATE "C" NOT NULL,
    user_id       text COLLATE "C" NOT NULL,
    locale        text,
    timezone      text,
    email         text,
    push_enabled  boolean NOT NULL DEFAULT true,
    email_enabled boolean NOT NULL DEFAULT true,
    source_time   timestamptz NOT NULL,
    recorded_at   timestamptz NOT NULL DEFAULT now(),
    updated_at    timestamptz NOT NULL DEFAULT now(),
    vouched_time  timestamptz,
    PRIMARY KEY (user_id, app)
);
COMMENT ON COLUMN recipients.vouched_time IS
    'When the app''s servers last confirmed the user, by their clock; null if only the user''s client has sent updates. An erasure keeps only rows that the servers confirmed after it.';
COMMENT ON COLUMN recipients.recorded_at IS
    'When the row was created, by the database''s clock: an event for everyone does not include users whose row is newer.';
CREATE INDEX recipients_everyone ON recipients (app, user_id);

CREATE TABLE notification_preferences (
    app         text COLLATE "C" NOT NULL,
    profile_id  text COLLATE "C" NOT NULL,
    preferences jsonb NOT NULL,
    source_time timestamptz NOT NULL,
    updated_at  timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (profile_id, app)
);

CREATE TABLE push_subscriptions (
    app           text COLLATE "C" NOT NULL,
    profile_id    text COLLATE "C" NOT NULL,
    id            text COLLATE "C" NOT NULL CHECK (
                      id ~ '^sub_[0-9a-f]{16}$' AND id NOT IN ('sub_0000000000000000', 'sub_ffffffffffffffff')),
    platform      text COLLATE "C" NOT NULL CHECK (platform IN ('ios', 'android', 'web')),
    provider      text COLLATE "C" NOT NULL CHECK (provider IN ('apns', 'fcm', 'expo', 'webpush')),
    device_token  text COLLATE "C" NOT NULL,
    subscription  jsonb,
    permission    text COLLATE "C",
    environment   text COLLATE "C",
    registered_at timestamptz NOT NULL,
    last_seen_at  timestamptz NOT NULL,
    revoked_at    timestamptz,
    revoke_reason text,
    ended_at      timestamptz,
    reached_at    timestamptz,
    source_time   timestamptz NOT NULL,
    vouched_time  timestamptz,
    renamed_at    timestamptz,
    PRIMARY KEY (profile_id, app, id)
);
COMMENT ON COLUMN push_subscriptions.vouched_time IS 'As in recipients.';
COMMENT ON COLUMN push_subscriptions.renamed_at IS 'When its token last replaced another one; null for never.';
COMMENT ON COLUMN push_subscriptions.subscription IS
    'Only the members of a browser''s PushSubscription that messages to it need: a client may register any other content, too.';
COMMENT ON COLUMN push_subscriptions.ended_at IS
    'When revoked_at was set, by the database''s clock: the clock of the source may be behind.';
COMMENT ON COLUMN push_subscriptions.reached_at IS
    'When the provider first accepted a push to this device in its present registration; null for never. If a provider rejects many devices, only such devices are evidence about the others.';
-- A token belongs to the last user who registered it. Its former owner is found by the token's hash, since a web push
-- endpoint may be too long for an index entry.
CREATE INDEX push_subscriptions_token ON push_subscriptions (md5(device_token));
CREATE INDEX push_subscriptions_revoked ON push_subscriptions (app, provider, revoked_at, profile_id, id)
    WHERE revoked_at IS NOT NULL;
CREATE INDEX push_subscriptions_reached ON push_subscriptions (app, provider, platform) WHERE reached_at IS NOT NULL;

CREATE FUNCTION note_end() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
    NEW.ended_at := CASE WHEN NEW.revoked_at IS NOT NULL THEN coalesce(NEW.ended_at, now()) END;
    RETURN NEW;
END
$$;
CREATE TRIGGER push_subscriptions_end BEFORE INSERT OR UPDATE OF revoked_at ON push_subscriptions
    FOR EACH ROW EXECUTE FUNCTION note_end();

-- Revokes devices that were not seen for this number of days. Their tokens are probably dead, and providers may
-- penalise senders that keep sending to dead tokens. A device that registers again is active again.
CREATE FUNCTION revoke_stale_push_subscriptions(days integer) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    revoked bigint;
BEGIN
    IF days IS NULL OR days < 1 THEN
        RAISE EXCEPTION 'days must be at least 1' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    UPDATE push_subscriptions SET revoked_at = now(), revoke_reason = 'stale'
    WHERE revoked_at IS NULL AND last_seen_at < now() - make_interval(days => days);
    GET DIAGNOSTICS revoked = ROW_COUNT;
    RETURN revoked;
END
$$;
COMMENT ON FUNCTION revoke_stale_push_subscriptions(integer) IS
    'Revokes subscriptions that were not seen for this number of days, and returns their number. For pg_cron, or bellhop revoke-stale.';

-- Fan-outs read the current content of a follow. The other columns store the source time of each part, so that updates
-- in the wrong order have the same result as in the right order.
CREATE TABLE follows (
    app         text COLLATE "C" NOT NULL,
    topic       text COLLATE "C" NOT NULL,
    user_id     text COLLATE "C" NOT NULL,
    role        text,
    muted       boolean NOT NULL DEFAULT false,
    devices     text,
    since       timestamptz NOT NULL,
    removed_at  timestamptz,
    followed_at timestamptz NOT NULL DEFAULT now(),
    source_time timestamptz NOT NULL,
    whole_time  timestamptz,
    role_time   timestamptz,
    muted_time  timestamptz,
    ended_time  timestamptz,
    parts       text,
    vouched_time timestamptz,
    PRIMARY KEY (user_id, app, topic)
);
COMMENT ON COLUMN follows.vouched_time IS 'As in recipients.';
CREATE INDEX follows_fanout ON follows (app, topic, user_id) WHERE removed_at IS NULL;
COMMENT ON COLUMN follows.devices IS
    'JSON: hashes of the tokens of the following devices, if not all of the user''s devices follow; null for all.';
COMMENT ON COLUMN follows.followed_at IS
    'When the follow began, by the database''s clock: an event for the topic does not include users whose follow is newer.';
COMMENT ON COLUMN follows.source_time IS 'The source time of its latest update.';
COMMENT ON COLUMN follows.whole_time IS 'The source time of the latest update about all of the user''s devices; null for never.';
COMMENT ON COLUMN follows.ended_time IS 'When it last ended for all devices: older updates about a single device are ignored.';
COMMENT ON COLUMN follows.parts IS
    'JSON: for the hash of a device''s token, the source time of the latest update about this device, and whether it follows.';

-- The scheduler plans reminders: next_fire_at is null after a change of the reminder or of its user's zone.
CREATE TABLE reminders (
    app          text COLLATE "C" NOT NULL,
    user_id      text COLLATE "C" NOT NULL,
    id           text COLLATE "C" NOT NULL,
    local_time   text COLLATE "C",
    days         text,
    timezone     text,
    event_type   text COLLATE "C",
    title        text,
    body         text,
    planned_from timestamptz NOT NULL DEFAULT now(),
    next_fire_at timestamptz,
    last_fired_on date,
    held_until   timestamptz,
    removed_at   timestamptz,
    source_time  timestamptz NOT NULL,
    vouched_time timestamptz,
    PRIMARY KEY (user_id, app, id),
    CHECK (removed_at IS NOT NULL OR (local_time IS NOT NULL AND title IS NOT NULL AND body IS NOT NULL))
);
COMMENT ON COLUMN reminders.vouched_time IS 'As in recipients.';
COMMENT ON COLUMN reminders.days IS 'Comma-separated, mon to sun, as the client sent it.';
COMMENT ON COLUMN reminders.planned_from IS 'The instant after which the next firing is computed.';
COMMENT ON COLUMN reminders.last_fired_on IS 'The local date of the last firing: there is one firing per date.';
COMMENT ON COLUMN reminders.held_until IS
    'The end of a scheduler''s claim, by which that scheduler recognises its claim. A change of the reminder or its zone sets null.';
CREATE INDEX reminders_unplanned ON reminders (app, user_id, id) WHERE next_fire_at IS NULL AND removed_at IS NULL;
CREATE INDEX reminders_due ON reminders (next_fire_at) WHERE removed_at IS NULL;

-- Deleted users and revoked devices stay recorded, as a hash and a time, so that a delayed message cannot restore them.
CREATE TABLE tombstones (
    app          text COLLATE "C" NOT NULL,
    subject_hash bytea NOT NULL,
    deleted_at   timestamptz NOT NULL,
    returned_at  timestamptz,
    recorded_at  timestamptz NOT NULL DEFAULT now(),
    completed_at timestamptz,
    PRIMARY KEY (app, subject_hash)
);
COMMENT ON COLUMN tombstones.completed_at IS
    'When the second run of a user''s erasure was complete; null until then, and for devices.';
COMMENT ON COLUMN tombstones.subject_hash IS
    'First 16 bytes of SHA-256 over kind, app, user (and token): no data of the user is kept.';
COMMENT ON COLUMN tombstones.returned_at IS
    'Set when the user was fed again: from then on, an event without a source time counts as newer.';

-- Erasures whose second run is pending: it waits until every transaction has ended that began before the erasure. Until
-- then the row names the user, which no other row does, since a tombstone is a hash.
CREATE TABLE erasures (
    app         text COLLATE "C" NOT NULL,
    user_id     text COLLATE "C" NOT NULL,
    said_at     timestamptz NOT NULL,
    recorded_at timestamptz NOT NULL DEFAULT now(),
    transaction xid8 NOT NULL DEFAULT pg_current_xact_id(),
    PRIMARY KEY (user_id, app)
);
CREATE INDEX erasures_order ON erasures (recorded_at);
COMMENT ON TABLE erasures IS 'Users whose erasure is repeated a minute later. Then their rows here are deleted, too.';

-- The user's data for workers, in one row and one index descent, and the number by which inbox and ledger name the
-- user. Triggers copy the data from the three source tables; nothing else writes it.
CREATE TABLE people (
    number        bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    app           text COLLATE "C" NOT NULL,
    user_id       text COLLATE "C" NOT NULL,
    push_enabled  boolean NOT NULL DEFAULT true,
    email_enabled boolean NOT NULL DEFAULT true,
    locale        text,
    timezone      text,
    email         text,
    preferences   text,
    devices       text,
    CONSTRAINT people_key UNIQUE (user_id, app)
) WITH (fillfactor = 80);
COMMENT ON COLUMN people.number IS
    'Assigned by the database: eight bytes in every key and index, where app and user would need forty.';
COMMENT ON COLUMN people.preferences IS 'JSON: the document of notification_preferences.';
COMMENT ON COLUMN people.devices IS
    'JSON: for each active subscription [id, token, platform, provider, permission, environment, keys of a browser, whether it was reached].';

-- Hashes of addresses that opted out by the link in a mail. An opt-out belongs to the address and not to a user:
-- another user with the same address gets no mails either. Only the app's servers can revoke it.
CREATE TABLE mail_opt_outs (
    app          text COLLATE "C" NOT NULL,
    address_hash bytea NOT NULL,
    opted_out_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (app, address_hash)
);
COMMENT ON COLUMN mail_opt_outs.address_hash IS
    'First 16 bytes of SHA-256 over app and address, its letters A to Z in lower case.';

CREATE FUNCTION email_hash(of_app text, email text) RETURNS bytea
LANGUAGE sql IMMUTABLE STRICT AS $$
    SELECT substr(sha256(convert_to('address ' || of_app || ' ' || lower(email COLLATE "C"), 'UTF8')), 1, 16)
$$;
-- Few users share an address. After an opt-out they are found by it.
CREATE INDEX recipients_email ON recipients (email_hash(app, email)) WHERE email IS NOT NULL;

-- Locks the row before it reads the new content: otherwise, two concurrent feeds of a user would each copy the state
-- before the other's update. A row that is deleted meanwhile is created again. Each user is found by the keys, whatever
-- sizes of the tables the server estimates.
CREATE FUNCTION copy_to_people(apps text[], users text[]) RETURNS void
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
                       CASE provider WHEN 'webpush' THEN subscription END, reached_at IS NOT NULL
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

-- Stores an opt-out of an address, and stops mails to all users with this address. It has the owner's rights, since
-- other users may have the same address.
CREATE FUNCTION opt_out_of_mail(of_app text, of_user text, address bytea) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
BEGIN
    INSERT INTO mail_opt_outs (app, address_hash) VALUES (of_app, address) ON CONFLICT DO NOTHING;
    IF FOUND THEN
        PERFORM copy_to_people(array_agg(r.app), array_agg(r.user_id))
        FROM recipients r
        WHERE r.email IS NOT NULL AND email_hash(r.app, r.email) = address AND r.app || '' = of_app
        HAVING count(*) > 0;
    END IF;
END
$$;

-- The argument is the column that names the user. A row that moves to another user changes both users.
CREATE FUNCTION note_people() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
    apps text[];
    users text[];
BEGIN
    EXECUTE format(
        CASE TG_OP
            WHEN 'UPDATE' THEN 'SELECT array_agg(app), array_agg(%1$I) FROM (TABLE changed UNION ALL TABLE was) AS rows'
            ELSE 'SELECT array_agg(app), array_agg(%1$I) FROM changed'
        END, TG_ARGV[0]
    ) INTO apps, users;
    IF apps IS NOT NULL THEN
        PERFORM copy_to_people(apps, users);
    END IF;
    RETURN NULL;
END
$$;

DO $$
DECLARE
    source record;
    act record;
BEGIN
    FOR source IN
        SELECT * FROM (VALUES
            ('recipients', 'user_id'), ('notification_preferences', 'profile_id'), ('push_subscriptions', 'profile_id')
        ) AS sources (name, owner_column)
    LOOP
        FOR act IN SELECT * FROM (VALUES
            ('INSERT', 'NEW TABLE AS changed'), ('UPDATE', 'NEW TABLE AS changed OLD TABLE AS was'),
            ('DELETE', 'OLD TABLE AS changed')) AS acts (name, rows)
        LOOP
            EXECUTE format(
                'CREATE TRIGGER %I AFTER %s ON %I REFERENCING %s '
                'FOR EACH STATEMENT EXECUTE FUNCTION note_people(%L)',
                source.name || '_' || lower(act.name), act.name, source.name, act.rows, source.owner_column
            );
        END LOOP;
    END LOOP;
END
$$;

-- The API signs a user in for each transaction by sign_in(app, user, …), which sets `bellhop.app` and `bellhop.user`.
-- Without that, the result is null. The function reads this schema's table, whatever the caller's search_path is.
CREATE FUNCTION signed_in_person() RETURNS bigint
LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT p.number FROM people p
    WHERE p.user_id = current_setting('bellhop.user', true) AND p.app = current_setting('bellhop.app', true);
END;

-- Signs a user in for the rest of the transaction. With `subject`, the hash of the user's tombstone, it also checks
-- that the token is still valid. A token that was issued before the user's erasure is invalid, unless the app's servers
-- have fed the user since. A token without a time of issue may be of any age, so it is also invalid. Until the
-- erasure's second run is complete, no token is valid.
CREATE FUNCTION sign_in(wanted_app text, wanted_user text, subject bytea, issued_at timestamptz) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('bellhop.app', wanted_app, true), set_config('bellhop.user', wanted_user, true);
    IF subject IS NOT NULL AND EXISTS (
        SELECT FROM tombstones t
        WHERE t.app = ANY (ARRAY[wanted_app]) AND t.subject_hash = subject AND t.returned_at IS NULL
          AND (issued_at IS NULL OR t.deleted_at >= issued_at OR t.completed_at IS NULL)
    ) THEN
        RAISE EXCEPTION 'the user was erased' USING ERRCODE = 'BH401';
    END IF;
END
$$;
