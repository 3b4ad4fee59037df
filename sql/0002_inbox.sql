-- Every table that a user owns a row of has a key that starts with (app, user): it is the idempotency guard, and the
-- column pair by which the tables are spread when one server is no longer enough. Keys compare byte by byte.

CREATE TABLE notifications (
    app          text COLLATE "C" NOT NULL,
    user_id      text COLLATE "C" NOT NULL,
    id           text COLLATE "C" NOT NULL,
    event_id     text COLLATE "C" NOT NULL,
    content_hash bytea NOT NULL,
    type         text COLLATE "C" NOT NULL,
    title        text NOT NULL,
    body         text NOT NULL,
    priority     text COLLATE "C" NOT NULL CHECK (priority IN ('high', 'normal', 'low')),
    venue_id     text,
    link         jsonb,
    data         jsonb,
    extras       jsonb,
    read_at      timestamptz,
    created_at   timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (app, user_id, id)
);
COMMENT ON TABLE notifications IS
    'The in-app record: one row for each (app, event, user), whatever is redelivered, replayed or restarted.';
COMMENT ON COLUMN notifications.extras IS
    'What only a push needs, so that a retry finds everything here: targetId, metadata, imageUrl, collapseKey, expiresAt.';
COMMENT ON COLUMN notifications.content_hash IS
    'First 16 bytes of SHA-256 over the content: the same id with another hash is an id-conflict.';

CREATE INDEX notifications_inbox ON notifications (app, user_id, created_at DESC, id DESC);

CREATE TABLE deliveries (
    app                 text COLLATE "C" NOT NULL,
    user_id             text COLLATE "C" NOT NULL,
    notification_id     text COLLATE "C" NOT NULL,
    channel             text COLLATE "C" NOT NULL,
    target              text COLLATE "C" NOT NULL,
    state               text COLLATE "C" NOT NULL CHECK (state IN (
        'pending', 'sending', 'deferred', 'retrying', 'accepted',
        'delivered', 'suppressed', 'expired', 'failed', 'unknown')),
    reason              text,
    attempts            smallint NOT NULL DEFAULT 0,
    provider_message_id text,
    due_at              timestamptz,
    decision            jsonb,
    claim               bigint,
    updated_at          timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (app, user_id, notification_id, channel, target)
) WITH (fillfactor = 75);
COMMENT ON TABLE deliveries IS 'The ledger: it alone decides what is still owed.';
COMMENT ON COLUMN deliveries.claim IS
    'Names the batch that has the right to send and to settle; whoever claims after the lease writes another.';
-- What goes out at once has no due_at from its insertion to its settlement: neither touches this index, and the update
-- stays on its page.
CREATE INDEX deliveries_due ON deliveries (due_at) WHERE due_at IS NOT NULL;

-- An event for a wider audience than named users, or for later, is kept once until it is expanded.
CREATE TABLE events (
    app          text COLLATE "C" NOT NULL,
    id           text COLLATE "C" NOT NULL,
    content_hash bytea,
    content      jsonb,
    planned_at   timestamptz,
    expanded_at  timestamptz,
    cancelled_at timestamptz,
    created_at   timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (app, id),
    CHECK (content IS NOT NULL OR cancelled_at IS NOT NULL)
);
CREATE INDEX events_planned ON events (planned_at) WHERE expanded_at IS NULL AND cancelled_at IS NULL;
COMMENT ON COLUMN events.cancelled_at IS 'Set also by a cancellation that overtook its event; the row then has no content.';
