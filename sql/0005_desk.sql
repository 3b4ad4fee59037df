-- The tables of the operators' commands: dead letters, replays, and the audit.

CREATE TABLE dead_letters (
    dead_id            text COLLATE "C" PRIMARY KEY,
    fingerprint        text COLLATE "C" NOT NULL,
    state              text COLLATE "C" NOT NULL DEFAULT 'open'
                       CHECK (state IN ('open', 'replaying', 'resolved', 'discarded')),
    stage              text COLLATE "C" NOT NULL,
    reason             text COLLATE "C" NOT NULL,
    pointer            text,
    error              text NOT NULL,
    provider           text COLLATE "C",
    app                text COLLATE "C",
    event_type         text COLLATE "C",
    event_id           text COLLATE "C",
    user_id            text COLLATE "C",
    notification_id    text COLLATE "C",
    channel            text COLLATE "C",
    target             text COLLATE "C",
    people             text[] COLLATE "C" NOT NULL DEFAULT '{}',
    attempts           integer NOT NULL,
    copies             integer NOT NULL DEFAULT 1,
    deaths             integer NOT NULL DEFAULT 1,
    replays            integer NOT NULL DEFAULT 0,
    replay_id          bigint,
    resolution         text,
    edited_from        text COLLATE "C",
    first_failed_at    timestamptz NOT NULL,
    last_failed_at     timestamptz NOT NULL,
    origin_exchange    text NOT NULL,
    origin_routing_key text NOT NULL,
    properties         jsonb NOT NULL,
    headers            jsonb NOT NULL,
    body               bytea NOT NULL,
    content_hash       bytea NOT NULL,
    filed_at           timestamptz NOT NULL DEFAULT now(),
    changed_at         timestamptz NOT NULL DEFAULT now(),
    exported_at        timestamptz
);
COMMENT ON TABLE dead_letters IS 'One item for each rejected message or exhausted delivery, with the original message byte for byte.';
COMMENT ON COLUMN dead_letters.notification_id IS
    'With channel and target: the row of the ledger that was given up; null for a message that was rejected.';
COMMENT ON COLUMN dead_letters.people IS
    'The users of the message, if it names them: first 16 bytes of SHA-256 over kind, app and user, in hex.';
COMMENT ON COLUMN dead_letters.copies IS
    'The number of times that a redelivered message has caused the same dead letter; for messages that the broker dead-lettered itself, the number of their failures.';
COMMENT ON COLUMN dead_letters.deaths IS 'The number of its failures: one more than its failed replays.';
COMMENT ON COLUMN dead_letters.replay_id IS 'The replay that currently contains it.';
COMMENT ON COLUMN dead_letters.resolution IS 'The outcome of its replay or of its edited copy, if it is resolved.';
COMMENT ON COLUMN dead_letters.edited_from IS 'The item whose corrected copy this is.';
-- One item for each delivery, however often it fails.
CREATE UNIQUE INDEX dead_letters_delivery ON dead_letters (user_id, app, notification_id, channel, target)
    WHERE notification_id IS NOT NULL;
-- By its content, a dead letter finds a later one of the same message that was stored before it. The condition limits
-- the index to messages that had been redelivered, which are few: of many equal dead letters, none must read all the
-- others.
CREATE INDEX dead_letters_overtaking ON dead_letters (content_hash, first_failed_at) WHERE attempts > 1;
-- A copy of a redelivered message reads one item with its content, however many there are.
CREATE INDEX dead_letters_waiting_content ON dead_letters (content_hash, filed_at, dead_id)
    WHERE state IN ('open', 'replaying');
CREATE INDEX dead_letters_closed_content ON dead_letters (content_hash, changed_at)
    WHERE state IN ('resolved', 'discarded');
CREATE INDEX dead_letters_people ON dead_letters USING gin (people);
-- Lists show the newest items of a state, a reason, a user or an event. These indexes do not contain the id, so that a
-- look-up by id can use no other index; few items of a state have the same time.
CREATE INDEX dead_letters_groups ON dead_letters (state, fingerprint, last_failed_at);
CREATE INDEX dead_letters_recent ON dead_letters (state, last_failed_at DESC);
CREATE INDEX dead_letters_reason ON dead_letters (state, reason, last_failed_at DESC);
CREATE INDEX dead_letters_open ON dead_letters (app, reason, first_failed_at) WHERE state = 'open';
CREATE INDEX dead_letters_apps ON dead_letters (app, last_failed_at);
CREATE INDEX dead_letters_user ON dead_letters (user_id, app);
CREATE INDEX dead_letters_event ON dead_letters (app, event_id) WHERE event_id IS NOT NULL;
CREATE INDEX dead_letters_replay ON dead_letters (replay_id) WHERE replay_id IS NOT NULL;
CREATE INDEX dead_letters_retirement ON dead_letters (changed_at)
    WHERE state IN ('resolved', 'discarded') AND replay_id IS NULL;

-- Indexes of lists require bitmap scans, which workers disable. As a function, this look-up is planned at each call,
-- for the table's present content.
CREATE FUNCTION letters_about(person text) RETURNS SETOF text
LANGUAGE sql STABLE SET enable_seqscan = off SET enable_indexscan = off SET enable_bitmapscan = on AS $$
    SELECT d.dead_id FROM dead_letters d WHERE d.people @> ARRAY[person] LIMIT 20
$$;

-- The history of an item since it was stored; its replays are in replay_items.
CREATE TABLE dead_letter_history (
    number   bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    dead_id  text COLLATE "C" NOT NULL REFERENCES dead_letters ON DELETE CASCADE,
    at       timestamptz NOT NULL DEFAULT now(),
    kind     text COLLATE "C" NOT NULL CHECK (kind IN (
                 'died', 'noted', 'discarded', 'restored', 'edited', 'imported')),
    operator text,
    words    text NOT NULL,
    act      bigint
);
CREATE INDEX dead_letter_history_item ON dead_letter_history (dead_id, number);
CREATE INDEX dead_letter_history_act ON dead_letter_history (act) WHERE act IS NOT NULL;
COMMENT ON COLUMN dead_letter_history.act IS 'The number in the audit of the action that caused it, by which the action can be undone.';
COMMENT ON COLUMN dead_letter_history.words IS 'The error of an earlier failure, or the operator''s reason for an action.';

CREATE TABLE replays (
    id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    state        text COLLATE "C" NOT NULL DEFAULT 'running'
                 CHECK (state IN ('running', 'paused', 'cancelled', 'done')),
    filter       jsonb NOT NULL,
    operator     text NOT NULL,
    because      text NOT NULL,
    items        bigint NOT NULL,
    rate         integer CHECK (rate > 0),
    ramp         integer CHECK (ramp > 0),
    pause_share  integer NOT NULL CHECK (pause_share BETWEEN 1 AND 100),
    pause_reason text,
    started_at   timestamptz NOT NULL DEFAULT now(),
    resumed_at   timestamptz NOT NULL DEFAULT now(),
    finished_at  timestamptz,
    not_before   timestamptz,
    runner       text,
    runner_until timestamptz
);
CREATE INDEX replays_unfinished ON replays (id) WHERE finished_at IS NULL;
CREATE INDEX replays_user ON replays ((filter ->> 'user')) WHERE filter ->> 'user' IS NOT NULL;
COMMENT ON COLUMN replays.rate IS 'Items per second at most; null for the limit of the replay lane.';
COMMENT ON COLUMN replays.ramp IS 'The number of items that may be sent next before all have an outcome: 1, 2, 5, 10, …; null without a ramp.';
COMMENT ON COLUMN replays.not_before IS 'When it begins to send; null for immediately.';
COMMENT ON COLUMN replays.runner IS 'The scheduler that runs it until runner_until; afterwards, any scheduler may continue it.';

-- The fixed set of a replay's items, and the outcome of each.
CREATE TABLE replay_items (
    replay_id  bigint NOT NULL REFERENCES replays ON DELETE CASCADE,
    position   bigint NOT NULL,
    dead_id    text COLLATE "C" NOT NULL REFERENCES dead_letters ON DELETE CASCADE,
    state      text COLLATE "C" NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'sent', 'settled')),
    outcome    text COLLATE "C",
    detail     text,
    settled_at timestamptz,
    PRIMARY KEY (replay_id, position),
    CHECK ((state = 'settled') = (outcome IS NOT NULL))
);
CREATE INDEX replay_items_item ON replay_items (dead_id);
CREATE INDEX replay_items_open ON replay_items (replay_id, state, position) WHERE state <> 'settled';
CREATE INDEX replay_items_settled ON replay_items (replay_id, settled_at DESC) WHERE state = 'settled';

-- The progress of retention. For older items, the rows that show a duplicate, an erased user or a device's former owner
-- may be missing. Therefore no older item is replayed, whatever the settings are.
CREATE TABLE retired (
    kind  text COLLATE "C" PRIMARY KEY,
    up_to timestamptz NOT NULL
);
COMMENT ON COLUMN retired.up_to IS
    'Rows that ended before this time may have been deleted. Never set back: a longer retention period does not restore deleted rows.';

CREATE TABLE audit (
    number    bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at        timestamptz NOT NULL DEFAULT now(),
    operator  text NOT NULL,
    login     text COLLATE "C" NOT NULL DEFAULT session_user,
    act       text COLLATE "C" NOT NULL,
    filter    jsonb NOT NULL,
    items     bigint NOT NULL,
    because   text NOT NULL,
    replay_id bigint
);
CREATE INDEX audit_user ON audit ((filter ->> 'user')) WHERE filter ->> 'user' IS NOT NULL;
CREATE INDEX audit_fanout ON audit ((filter ->> 'fanout')) WHERE filter ->> 'fanout' IS NOT NULL;
COMMENT ON TABLE audit IS
    'Operators'' actions: the operator, the action, the number of items and the reason. Rows are added and never changed, except that an erased user is removed from a filter.';
COMMENT ON COLUMN audit.login IS
    'The database log-in of the action. The operator chooses the operator''s name; the database sets the log-in.';

-- It has the owner's rights and does only this: a worker may add to the audit, but must not change it.
CREATE FUNCTION forget_in_filters(apps text[], users text[]) RETURNS void
LANGUAGE sql SECURITY DEFINER AS $$
    UPDATE audit a SET filter = a.filter || '{"user": "(erased)"}'
    FROM unnest(apps, users) AS r (app, user_id)
    WHERE a.filter ->> 'user' = r.user_id AND coalesce(a.filter ->> 'app', r.app) = r.app;
    UPDATE replays p SET filter = p.filter || '{"user": "(erased)"}'
    FROM unnest(apps, users) AS r (app, user_id)
    WHERE p.filter ->> 'user' = r.user_id AND coalesce(p.filter ->> 'app', r.app) = r.app;
$$;
