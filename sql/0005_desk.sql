-- What the on-call engineers work with: letters that died, replays, and who did what.

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
    'With channel and target: the line of the ledger that was given up; null for a message that was rejected.';
COMMENT ON COLUMN dead_letters.people IS
    'Whom the message is for, as far as it tells: first 16 bytes of SHA-256 over kind, app and user, in hex.';
COMMENT ON COLUMN dead_letters.copies IS
    'How often a redelivered message has brought the same letter; for what the broker took, how often the same has died.';
COMMENT ON COLUMN dead_letters.deaths IS 'How often it has died: one more than the replays that it did not survive.';
COMMENT ON COLUMN dead_letters.replay_id IS 'The replay that holds it at the moment.';
COMMENT ON COLUMN dead_letters.resolution IS 'What became of it, for resolved ones: the outcome of its replay, or of its edited copy.';
COMMENT ON COLUMN dead_letters.edited_from IS 'The item whose corrected copy this is.';
-- One item for each delivery, however often it dies.
CREATE UNIQUE INDEX dead_letters_delivery ON dead_letters (user_id, app, notification_id, channel, target)
    WHERE notification_id IS NOT NULL;
-- By content a letter finds the later one of the same message that was filed before it. Few letters are of messages that
-- had been handed out before, and a flood of equal ones must not make each look at all the others.
CREATE INDEX dead_letters_overtaking ON dead_letters (content_hash, first_failed_at) WHERE attempts > 1;
-- A copy of a redelivered message looks at one item of its content, however many there are.
CREATE INDEX dead_letters_waiting_content ON dead_letters (content_hash, filed_at, dead_id)
    WHERE state IN ('open', 'replaying');
CREATE INDEX dead_letters_closed_content ON dead_letters (content_hash, changed_at)
    WHERE state IN ('resolved', 'discarded');
CREATE INDEX dead_letters_people ON dead_letters USING gin (people);
-- What lists ask for: the newest of a state, of a reason, of a user, of an event. What is looked for by its id must find no
-- other index with the id in it; the newest of a state are few at each instant.
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

-- Indexes of lists are read by bitmaps, which workers do without. As a function this look-up is planned at each call, by
-- what the table holds at that moment.
CREATE FUNCTION letters_about(person text) RETURNS SETOF text
LANGUAGE sql STABLE SET enable_seqscan = off SET enable_indexscan = off SET enable_bitmapscan = on AS $$
    SELECT d.dead_id FROM dead_letters d WHERE d.people @> ARRAY[person] LIMIT 20
$$;

-- What happened to an item since it was filed; its replays are in replay_items.
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
COMMENT ON COLUMN dead_letter_history.act IS 'The number in the audit of the act that did it, by which it is undone.';
COMMENT ON COLUMN dead_letter_history.words IS 'For an earlier death its error; for an act the operator''s reason.';

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
COMMENT ON COLUMN replays.rate IS 'Items a second at most; null for as many as the replay lane takes.';
COMMENT ON COLUMN replays.ramp IS 'Items that may go out next before all have an outcome: 1, 2, 5, 10, …; null where nobody asked for a ramp.';
COMMENT ON COLUMN replays.not_before IS 'When it begins to send; null for at once.';
COMMENT ON COLUMN replays.runner IS 'Who carries it on at the moment, until runner_until; then anyone may.';

-- The frozen set of a replay, and what became of each item.
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

-- How far retention has gone. What tells a double, an erased person or a former owner may be missing for what is older, so
-- that nothing older is replayed, whatever somebody's settings say.
CREATE TABLE retired (
    kind  text COLLATE "C" PRIMARY KEY,
    up_to timestamptz NOT NULL
);
COMMENT ON COLUMN retired.up_to IS
    'What ended before may have been let go of. Never set back: what is gone stays gone when things are kept for longer.';

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
    'Who did what at the desk, to how many items, and why: rows are added and never changed, but that an erased user is taken out of a filter.';
COMMENT ON COLUMN audit.login IS
    'The database log-in that the act came through: an operator''s name is their own word, this one is not.';

-- With the owner's rights, and able to do nothing but this: a worker adds to the audit and never changes it.
CREATE FUNCTION forget_in_filters(apps text[], users text[]) RETURNS void
LANGUAGE sql SECURITY DEFINER AS $$
    UPDATE audit a SET filter = a.filter || '{"user": "(erased)"}'
    FROM unnest(apps, users) AS r (app, user_id)
    WHERE a.filter ->> 'user' = r.user_id AND coalesce(a.filter ->> 'app', r.app) = r.app;
    UPDATE replays p SET filter = p.filter || '{"user": "(erased)"}'
    FROM unnest(apps, users) AS r (app, user_id)
    WHERE p.filter ->> 'user' = r.user_id AND coalesce(p.filter ->> 'app', r.app) = r.app;
$$;
