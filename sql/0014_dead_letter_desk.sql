-- What the on-call engineer's desk works with: items that die again, replays, history, audit.
ALTER TABLE dead_letters
    ADD COLUMN notification_id text COLLATE "C",
    ADD COLUMN channel         text COLLATE "C",
    ADD COLUMN target          text COLLATE "C",
    ADD COLUMN deaths          integer NOT NULL DEFAULT 1,
    ADD COLUMN replays         integer NOT NULL DEFAULT 0,
    ADD COLUMN replay_id       bigint,
    ADD COLUMN resolution      text,
    ADD COLUMN edited_from     text COLLATE "C",
    ADD COLUMN changed_at      timestamptz NOT NULL DEFAULT now(),
    ADD COLUMN exported_at     timestamptz;
COMMENT ON COLUMN dead_letters.notification_id IS
    'With channel and target: the line of the ledger that was given up; null for a message that was rejected.';
COMMENT ON COLUMN dead_letters.deaths IS 'How often it has died: one more than the replays that it did not survive.';
COMMENT ON COLUMN dead_letters.replay_id IS 'The replay that holds it at the moment.';
COMMENT ON COLUMN dead_letters.resolution IS 'What became of it, for resolved ones: the outcome of its replay, or of its edited copy.';
COMMENT ON COLUMN dead_letters.edited_from IS 'The item whose corrected copy this is.';

-- One item for each delivery, however often it dies.
CREATE UNIQUE INDEX dead_letters_delivery ON dead_letters (app, user_id, notification_id, channel, target)
    WHERE notification_id IS NOT NULL;

-- Letters that were filed before say in their body which line of the ledger they are about; one that does not say so
-- legibly stays as it is. A message, which came through an exchange, is none of them whatever its body says.
DO $$
DECLARE
    letter record;
BEGIN
    FOR letter IN SELECT dead_id, body FROM dead_letters WHERE stage IN ('dispatch', 'receipt') AND origin_exchange = '' LOOP
        BEGIN
            UPDATE dead_letters d
            SET notification_id = b.body ->> 'notificationId', channel = b.body ->> 'channel', target = b.body ->> 'target'
            FROM (SELECT convert_from(letter.body, 'UTF8')::jsonb AS body) AS b
            WHERE d.dead_id = letter.dead_id;
        EXCEPTION WHEN OTHERS THEN
            NULL;
        END;
    END LOOP;
END
$$;

-- What lists ask for: the newest of a state, of a reason, of a user.
CREATE INDEX dead_letters_recent ON dead_letters (state, last_failed_at DESC, dead_id DESC);
CREATE INDEX dead_letters_reason ON dead_letters (state, reason, last_failed_at DESC);
CREATE INDEX dead_letters_user ON dead_letters (app, user_id) WHERE user_id IS NOT NULL;
CREATE INDEX dead_letters_replay ON dead_letters (replay_id) WHERE replay_id IS NOT NULL;

-- What happened to an item since it was filed; its replays are in replay_items.
CREATE TABLE dead_letter_history (
    number   bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    dead_id  text COLLATE "C" NOT NULL REFERENCES dead_letters ON DELETE CASCADE,
    at       timestamptz NOT NULL DEFAULT now(),
    kind     text COLLATE "C" NOT NULL CHECK (kind IN (
                 'died', 'noted', 'discarded', 'restored', 'edited', 'imported')),
    operator text,
    words    text NOT NULL
);
CREATE INDEX dead_letter_history_item ON dead_letter_history (dead_id, number);
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
    runner       text,
    runner_until timestamptz
);
CREATE INDEX replays_unfinished ON replays (id) WHERE finished_at IS NULL;
COMMENT ON COLUMN replays.rate IS 'Items a second at most; null for as many as the replay lane takes.';
COMMENT ON COLUMN replays.ramp IS 'Items that may go out next before all have an outcome: 1, 2, 5, 10, …; null where nobody asked for a ramp.';
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

CREATE TABLE audit (
    number    bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at        timestamptz NOT NULL DEFAULT now(),
    operator  text NOT NULL,
    act       text COLLATE "C" NOT NULL,
    filter    jsonb NOT NULL,
    items     bigint NOT NULL,
    because   text NOT NULL,
    replay_id bigint
);
COMMENT ON TABLE audit IS 'Who did what at the desk, to how many items, and why: rows are added and never changed.';

GRANT SELECT, INSERT, UPDATE, DELETE ON dead_letter_history, replays, replay_items TO bellhop_worker, bellhop_admin;
GRANT SELECT, INSERT ON audit TO bellhop_worker, bellhop_admin;
