-- What is fed from outside carries the time at which its source said it: an older word never overwrites a newer one.

CREATE TABLE recipients (
    app           text COLLATE "C" NOT NULL,
    user_id       text COLLATE "C" NOT NULL,
    locale        text,
    timezone      text,
    email         text,
    push_enabled  boolean NOT NULL DEFAULT true,
    email_enabled boolean NOT NULL DEFAULT true,
    source_time   timestamptz NOT NULL,
    updated_at    timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (app, user_id)
);

CREATE TABLE notification_preferences (
    app         text COLLATE "C" NOT NULL,
    profile_id  text COLLATE "C" NOT NULL,
    preferences jsonb NOT NULL,
    source_time timestamptz NOT NULL,
    updated_at  timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (app, profile_id)
);

CREATE TABLE push_subscriptions (
    app           text COLLATE "C" NOT NULL,
    profile_id    text COLLATE "C" NOT NULL,
    id            text COLLATE "C" NOT NULL,
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
    source_time   timestamptz NOT NULL,
    PRIMARY KEY (app, profile_id, id)
);
-- A token belongs to the last user who registered it: its former owner is found by the token's hash, since a web
-- push endpoint may be longer than an index entry can be.
CREATE INDEX push_subscriptions_token ON push_subscriptions (app, md5(device_token));

CREATE TABLE follows (
    app         text COLLATE "C" NOT NULL,
    topic       text COLLATE "C" NOT NULL,
    user_id     text COLLATE "C" NOT NULL,
    role        text,
    muted       boolean NOT NULL DEFAULT false,
    since       timestamptz NOT NULL,
    removed_at  timestamptz,
    source_time timestamptz NOT NULL,
    PRIMARY KEY (app, user_id, topic)
);
CREATE INDEX follows_fanout ON follows (app, topic, user_id) WHERE removed_at IS NULL;

CREATE TABLE reminders (
    app         text COLLATE "C" NOT NULL,
    user_id     text COLLATE "C" NOT NULL,
    id          text COLLATE "C" NOT NULL,
    local_time  text COLLATE "C",
    days        text,
    timezone    text,
    title       text,
    body        text,
    removed_at  timestamptz,
    source_time timestamptz NOT NULL,
    PRIMARY KEY (app, user_id, id),
    CHECK (removed_at IS NOT NULL OR (local_time IS NOT NULL AND title IS NOT NULL AND body IS NOT NULL))
);
COMMENT ON COLUMN reminders.days IS 'Comma-separated, mon to sun; the client''s words.';

-- What was taken back stays known, as a hash and a time, so that a message that was under way for longer cannot
-- bring it to life again.
CREATE TABLE tombstones (
    app          text COLLATE "C" NOT NULL,
    subject_hash bytea NOT NULL,
    deleted_at   timestamptz NOT NULL,
    returned_at  timestamptz,
    recorded_at  timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (app, subject_hash)
);
COMMENT ON COLUMN tombstones.subject_hash IS
    'First 16 bytes of SHA-256 over kind, app, user (and token): nothing of the person is kept.';
COMMENT ON COLUMN tombstones.returned_at IS
    'Set when the person was fed anew: from then on an event that does not say when it was sent counts as newer.';
