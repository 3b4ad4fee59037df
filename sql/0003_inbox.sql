-- The in-app records and the ledger of their deliveries. Both grow without limit and are written at every event, so
-- their rows are small: a user is a number, an id is eight bytes, a state is one letter, and JSON that is never
-- searched is text. The views `notifications` and `deliveries` show the same data in readable form. Other programs may
-- read these views.

CREATE TABLE inbox (
    person        bigint NOT NULL,
    id            bigint NOT NULL,
    created_at    timestamptz NOT NULL DEFAULT now(),
    said_at       timestamptz,
    read_at       timestamptz,
    urgency       smallint NOT NULL CHECK (urgency BETWEEN 0 AND 2),
    unsent        "char" CHECK (unsent IN ('x', 'e')),
    content_hash  bytea NOT NULL,
    event_id      text COLLATE "C" NOT NULL,
    type          text COLLATE "C" NOT NULL,
    title         text NOT NULL,
    body          text NOT NULL,
    venue_id      text,
    link_web      text,
    link_mobile   text,
    link_scheme   text,
    data          text,
    target_id     text,
    metadata      text,
    extras        text,
    collapse_key  text COLLATE "C",
    unsent_reason text COLLATE "C",
    seen_at       timestamptz,
    archived_at   timestamptz,
    snoozed_until timestamptz,
    PRIMARY KEY (person, id)
);
COMMENT ON TABLE inbox IS
    'The in-app record: one row for each (app, event, user), despite redeliveries, replays and restarts.';
COMMENT ON COLUMN inbox.id IS 'The eight bytes that the digits of a notification''s id represent.';
COMMENT ON COLUMN inbox.urgency IS '0 for priority high, 1 normal, 2 low.';
COMMENT ON COLUMN inbox.unsent IS
    'If no device was eligible, the state of the push: suppressed or expired. Such a push is never sent and has no row in the ledger.';
COMMENT ON COLUMN inbox.content_hash IS
    'First 16 bytes of SHA-256 over the content: the same id with another hash is an id-conflict.';
COMMENT ON COLUMN inbox.said_at IS 'Source timestamp (sentAtIso); null if absent.';
COMMENT ON COLUMN inbox.link_web IS
    'The target of a tap: the web app''s path, the mobile app''s route and, if the catalogue has one, the URL in the app''s scheme. All are null if no target is defined.';
COMMENT ON COLUMN inbox.extras IS
    'Rare members that only a push needs, stored so that a retry has all data: imageUrl, expiresAt, topic, everyone, traceparent, tracestate.';
COMMENT ON COLUMN inbox.seen_at IS 'When the user first saw it, read or not.';
COMMENT ON COLUMN inbox.archived_at IS 'When the user archived it; null while it is in the list.';
COMMENT ON COLUMN inbox.snoozed_until IS
    'The end of the user''s snooze. Afterwards, the list places it as if it had been created at that time.';

CREATE TABLE ledger (
    person              bigint NOT NULL,
    id                  bigint NOT NULL,
    target              bigint NOT NULL,
    updated_at          timestamptz NOT NULL DEFAULT now(),
    claim               bigint,
    due_at              timestamptz,
    sent_at             timestamptz,
    attempts            smallint NOT NULL DEFAULT 0,
    unknown_sends       smallint NOT NULL DEFAULT 0,
    urgency             smallint NOT NULL DEFAULT 1 CHECK (urgency BETWEEN 0 AND 2),
    state               "char" NOT NULL CHECK (state IN ('p', 's', 'r', 'w', 'a', 'd', 'x', 'e', 'f', 'u')),
    reason              text COLLATE "C",
    provider_message_id text,
    decision            jsonb,
    outlet              text COLLATE "C",
    queued_at           timestamptz,
    PRIMARY KEY (person, id, target)
) WITH (fillfactor = 42);
-- A row is written twice within a second: when it is claimed and when it is settled. One statement settles a whole
-- batch, so the old versions cannot be removed before all rows are written. The fill factor leaves room for the second
-- versions of all rows of a page, including their provider ids. Then the settlement touches no index.
COMMENT ON TABLE ledger IS 'All deliveries and their outcomes: the only record of deliveries that are still to be sent.';
COMMENT ON COLUMN ledger.target IS
    'The eight bytes that the digits of a subscription''s id represent; 0 for the user''s mailbox, -1 for no destination.';
COMMENT ON COLUMN ledger.state IS 'One letter; delivery_state() returns the name.';
COMMENT ON COLUMN ledger.claim IS
    'Names the batch that has the right to send and to settle. A claim after the end of the lease replaces it.';
COMMENT ON COLUMN ledger.unknown_sends IS
    'Sends with an unknown outcome: the claiming batch never settled, or a request had no answer. For each of them, a provider may have received the message one additional time.';
COMMENT ON COLUMN ledger.urgency IS '0 for priority high, 1 normal, 2 low: the order in which due work is released.';
COMMENT ON COLUMN ledger.sent_at IS
    'In the state accepted, the time of the send: receipts are requested for a day from then on, and a device that was registered later stays active. Null in every other state.';

COMMENT ON COLUMN ledger.outlet IS
    'The backlog in which the row waits: its app, its provider and, if only one platform is blocked, the platform; otherwise null. A worker with free capacity pulls it. Such a row has no due_at, so the sweeper never releases it.';
COMMENT ON COLUMN ledger.queued_at IS
    'Its position in the backlog: when it was recorded, if that is known; null outside of a backlog.';

-- `bellhop migrate --partitions N` divides each of the two by user into N tables. Their indexes are smaller, so that
-- the upper pages stay in memory, and the tables are vacuumed separately. The statements of a batch name its users and
-- use only their partitions; queries for due rows use all partitions.
DO $$
DECLARE
    parts integer := coalesce(nullif(current_setting('bellhop.partitions', true), ''), '0');
    whole text;
BEGIN
    IF parts = 0 THEN
        RETURN;
    END IF;
    FOREACH whole IN ARRAY ARRAY['inbox', 'ledger'] LOOP
        EXECUTE format('CREATE TABLE spread (LIKE %I INCLUDING ALL) PARTITION BY HASH (person)', whole);
        EXECUTE format('DROP TABLE %I', whole);
        EXECUTE format('ALTER TABLE spread RENAME TO %I', whole);
        EXECUTE format('ALTER INDEX spread_pkey RENAME TO %I', whole || '_pkey');
        FOR part IN 0 .. parts - 1 LOOP
            EXECUTE format(
                'CREATE TABLE %I PARTITION OF %I FOR VALUES WITH (MODULUS %s, REMAINDER %s) WITH (fillfactor = %s)',
                whole || '_' || part, whole, parts, part, CASE whole WHEN 'ledger' THEN 42 ELSE 100 END
            );
        END LOOP;
    END LOOP;
END
$$;

CREATE INDEX inbox_newest ON inbox (person, created_at DESC, id DESC);
-- Few rows are snoozed or archived. New records touch neither the index of snoozed nor that of archived rows.
CREATE INDEX inbox_snoozed ON inbox (person, snoozed_until DESC, id DESC) WHERE snoozed_until IS NOT NULL;
-- The number on an app's icon is counted at every push, from the unread rows only and not from all stored rows. No
-- query needs the order of this index; it prevents the server from rating another index as equally good.
CREATE INDEX inbox_unread ON inbox (person, urgency) WHERE read_at IS NULL AND archived_at IS NULL;
-- Finds a later notification with the same collapse key, however many others are newer.
CREATE INDEX inbox_collapsed ON inbox (person, collapse_key, created_at, id) WHERE collapse_key IS NOT NULL;
CREATE INDEX inbox_archived ON inbox (person, created_at DESC, id DESC) WHERE archived_at IS NOT NULL;

-- A delivery that is sent immediately has no due_at from its insertion to its settlement. Neither statement touches an
-- index, and the update can stay on its page. Waiting deliveries are found by their time, and together with the user's
-- other open deliveries. Accepted deliveries that wait for a receipt are recognised by sent_at and not by the state:
-- every settlement would have to update an index on the state.
CREATE INDEX ledger_due ON ledger (urgency, due_at) WHERE due_at IS NOT NULL AND sent_at IS NULL;
CREATE INDEX ledger_owed ON ledger (person, due_at) WHERE due_at IS NOT NULL AND sent_at IS NULL;
CREATE INDEX ledger_backlog ON ledger (outlet, urgency, queued_at) WHERE outlet IS NOT NULL;
CREATE INDEX ledger_receipts ON ledger (due_at) WHERE sent_at IS NOT NULL;

CREATE FUNCTION delivery_state(letter "char") RETURNS text
LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE letter
        WHEN 'p' THEN 'pending' WHEN 's' THEN 'sending' WHEN 'r' THEN 'retrying' WHEN 'w' THEN 'deferred'
        WHEN 'a' THEN 'accepted' WHEN 'd' THEN 'delivered' WHEN 'x' THEN 'suppressed' WHEN 'e' THEN 'expired'
        WHEN 'f' THEN 'failed' WHEN 'u' THEN 'unknown'
    END
$$;
CREATE FUNCTION notification_name(number bigint) RETURNS text
LANGUAGE sql IMMUTABLE AS $$
    SELECT 'noti_' || lpad(to_hex(number), 16, '0')
$$;
-- Returns null if the text is not a notification's id.
CREATE FUNCTION notification_number(name text) RETURNS bigint
LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN name ~ '^noti_[0-9a-f]{16}$' THEN ('x' || substr(name, 6))::bit(64)::bigint END
$$;
CREATE FUNCTION target_name(number bigint) RETURNS text
LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE number WHEN 0 THEN 'email' WHEN -1 THEN '-' ELSE 'sub_' || lpad(to_hex(number), 16, '0') END
$$;
-- Returns null if the text is not a target.
CREATE FUNCTION target_number(name text) RETURNS bigint
LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE
        WHEN name = 'email' THEN 0 WHEN name = '-' THEN -1
        WHEN name ~ '^sub_[0-9a-f]{16}$' THEN ('x' || substr(name, 5))::bit(64)::bigint
    END
$$;
-- Returns the link as the API serves it; null if there is none.
CREATE FUNCTION notification_link(web text, mobile text, scheme text) RETURNS jsonb
LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE
        WHEN web IS NOT NULL THEN jsonb_strip_nulls(jsonb_build_object('mobile', mobile, 'scheme', scheme, 'web', web))
    END
$$;
CREATE FUNCTION target_channel(number bigint) RETURNS text
LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE number WHEN 0 THEN 'email' ELSE 'push' END
$$;

CREATE VIEW notifications WITH (security_invoker = true) AS
SELECT p.app, p.user_id, notification_name(i.id) COLLATE "C" AS id, i.event_id, i.content_hash, i.type, i.title, i.body,
       CASE i.urgency WHEN 0 THEN 'high' WHEN 1 THEN 'normal' ELSE 'low' END COLLATE "C" AS priority, i.venue_id,
       notification_link(i.link_web, i.link_mobile, i.link_scheme) AS link, i.data::jsonb AS data, i.read_at,
       i.created_at, i.extras::jsonb AS extras, i.collapse_key, i.seen_at, i.archived_at, i.snoozed_until,
       i.target_id, i.metadata::jsonb AS metadata, i.said_at
FROM inbox i JOIN people p ON p.number = i.person;
COMMENT ON VIEW notifications IS 'The inbox in readable form.';

CREATE VIEW deliveries WITH (security_invoker = true) AS
SELECT p.app, p.user_id, notification_name(l.id) COLLATE "C" AS notification_id,
       target_channel(l.target) COLLATE "C" AS channel, target_name(l.target) COLLATE "C" AS target,
       delivery_state(l.state) COLLATE "C" AS state, l.reason, l.attempts, l.provider_message_id, l.due_at, l.decision,
       l.updated_at, l.claim, l.unknown_sends, l.urgency, l.sent_at, l.outlet, l.queued_at
FROM ledger l JOIN people p ON p.number = l.person
UNION ALL
SELECT p.app, p.user_id, notification_name(i.id), 'push', '-', delivery_state(i.unsent), i.unsent_reason, 0::smallint,
       NULL, NULL, NULL, i.created_at, NULL, 0::smallint, i.urgency, NULL, NULL, NULL
FROM inbox i JOIN people p ON p.number = i.person WHERE i.unsent IS NOT NULL;
COMMENT ON VIEW deliveries IS 'The ledger in readable form, with pushes that were never to be sent.';

-- The number on an app's icon is the number of unread notifications in the list. When a notification is read or
-- archived, by any statement, a trigger writes a row here, and the user's devices are updated soon after.
CREATE TABLE badge_updates (
    app            text COLLATE "C" NOT NULL,
    user_id        text COLLATE "C" NOT NULL,
    requested_at   timestamptz NOT NULL DEFAULT now(),
    handed_over_at timestamptz,
    PRIMARY KEY (user_id, app)
) WITH (fillfactor = 70);
CREATE INDEX badge_updates_order ON badge_updates (requested_at);
COMMENT ON TABLE badge_updates IS 'Users whose unread count has changed since their devices were last updated.';

-- It has the owner's rights: a signed-in user may read notifications, but must not write to this table. The function
-- counts the changes per user, since the time of a comparison by row would grow with the square of the statement's
-- rows.
CREATE FUNCTION note_badge_updates() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
BEGIN
    INSERT INTO badge_updates (app, user_id)
    SELECT p.app, p.user_id
    FROM (
        SELECT person
        FROM (
            SELECT person, 1 AS counted FROM now_is n
            WHERE read_at IS NULL AND archived_at IS NULL AND coalesce(snoozed_until <= now(), true)
            UNION ALL
            SELECT person, -1 FROM was w
            WHERE read_at IS NULL AND archived_at IS NULL AND coalesce(snoozed_until <= now(), true)
        ) AS unread
        GROUP BY person HAVING sum(counted) <> 0
    ) AS readers
    JOIN people p ON p.number = ANY (ARRAY[readers.person])
    ORDER BY p.user_id || '', p.app || ''
    ON CONFLICT (user_id, app) DO UPDATE SET requested_at = now(), handed_over_at = NULL;
    RETURN NULL;
END
$$;
CREATE TRIGGER inbox_read AFTER UPDATE ON inbox
    REFERENCING OLD TABLE AS was NEW TABLE AS now_is
    FOR EACH STATEMENT EXECUTE FUNCTION note_badge_updates();

-- Processes with open streams of users, which must be notified immediately of new items. While there is no such
-- process, workers announce nothing.
CREATE TABLE listeners (
    process bigint PRIMARY KEY,
    until   timestamptz NOT NULL
);
COMMENT ON TABLE listeners IS 'The processes with open streams of users. A process that does not renew its row in time counts as dead.';

-- An event for a topic, for everyone or for a later time is stored once until it is expanded.
CREATE TABLE events (
    app            text COLLATE "C" NOT NULL,
    id             text COLLATE "C" NOT NULL,
    content_hash   bytea,
    content        jsonb,
    body           text,
    urgency        smallint NOT NULL DEFAULT 1 CHECK (urgency BETWEEN 0 AND 2),
    planned_at     timestamptz,
    handed_over_at timestamptz,
    expanded_at    timestamptz,
    cancelled_at   timestamptz,
    closed_reason  text COLLATE "C" CHECK (closed_reason IN ('expired', 'too-old')),
    created_at     timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (app, id),
    CHECK (content IS NOT NULL OR cancelled_at IS NOT NULL)
);
COMMENT ON COLUMN events.body IS
    'The message that is published when the event is due, as text: jsonb writes numbers in full and puts blanks between members, so the event could become larger than the limit.';
COMMENT ON COLUMN events.handed_over_at IS 'When a scheduler last published the event for its expansion; null until it is due.';
COMMENT ON COLUMN events.cancelled_at IS 'Also set by a cancellation that arrives before its event; the row then has no content.';
COMMENT ON COLUMN events.planned_at IS
    'From this time on, a scheduler publishes it if it is not expanded: its own time or, for an immediate event, half a minute after its arrival.';
COMMENT ON COLUMN events.closed_reason IS 'The reason why an event for a topic or for everyone was given up: it was not expanded in time.';
-- Events that are not expanded yet: those for a future time, and those whose worker has left them unexpanded.
CREATE INDEX events_due ON events (urgency, planned_at) WHERE expanded_at IS NULL AND cancelled_at IS NULL;
CREATE INDEX events_users ON events USING gin ((content #> '{to,users}')) WHERE content #> '{to,users}' IS NOT NULL;

-- Indexes of lists require bitmap scans, which workers disable. As a function, this look-up is planned at each call,
-- for the table's present content.
CREATE FUNCTION events_kept_for(who text) RETURNS TABLE (app text, id text)
LANGUAGE sql STABLE SET enable_seqscan = off SET enable_indexscan = off SET enable_bitmapscan = on AS $$
    SELECT e.app, e.id FROM events e WHERE (e.content #> '{to,users}') ? who
$$;

-- An event for a topic or for everyone is expanded page by page: each page is a range of user ids with about a thousand
-- users. The audience is fixed at started_at, whatever happens to the topic's followers meanwhile.
CREATE TABLE fanouts (
    number      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    app         text COLLATE "C" NOT NULL,
    event_id    text COLLATE "C" NOT NULL,
    type        text COLLATE "C" NOT NULL,
    topic       text COLLATE "C",
    urgency     smallint NOT NULL CHECK (urgency BETWEEN 0 AND 2),
    state       text COLLATE "C" NOT NULL DEFAULT 'running' CHECK (
                    state IN ('running', 'paused', 'cancelled', 'finished')),
    trouble     text,
    started_at  timestamptz NOT NULL DEFAULT now(),
    worked_at   timestamptz,
    finished_at timestamptz,
    paused_at   timestamptz,
    resumed_at  timestamptz NOT NULL DEFAULT now(),
    resumed_users bigint NOT NULL DEFAULT 0,
    planned     bigint NOT NULL DEFAULT 0,
    planned_to  text COLLATE "C" NOT NULL DEFAULT '',
    is_planned  boolean NOT NULL DEFAULT false,
    pages       bigint NOT NULL DEFAULT 0,
    users       bigint NOT NULL DEFAULT 0,
    recorded    bigint NOT NULL DEFAULT 0,
    sent        bigint NOT NULL DEFAULT 0,
    CONSTRAINT fanouts_event UNIQUE (app, event_id),
    FOREIGN KEY (app, event_id) REFERENCES events ON DELETE CASCADE
) WITH (fillfactor = 50);
COMMENT ON COLUMN fanouts.topic IS 'Null for everyone.';
COMMENT ON COLUMN fanouts.trouble IS 'The reason of an automatic pause, such as unknown-type; null if an operator paused it.';
COMMENT ON COLUMN fanouts.started_at IS
    'The instant of its snapshot: it does not include later followers, nor followers who have left since.';
COMMENT ON COLUMN fanouts.worked_at IS 'When its latest page was finished.';
COMMENT ON COLUMN fanouts.finished_at IS 'When its last page was finished, or when it was cancelled.';
COMMENT ON COLUMN fanouts.paused_at IS 'When it was paused.';
COMMENT ON COLUMN fanouts.resumed_at IS
    'When it last began to run; resumed_users is the number of users read by then. Its rate is computed from there.';
COMMENT ON COLUMN fanouts.planned IS 'The number of pages so far; planned_to is the last user of the last page, and is cleared at the end of the fan-out.';
COMMENT ON COLUMN fanouts.is_planned IS 'Whether the last page is planned.';
COMMENT ON COLUMN fanouts.pages IS
    'The number of completed pages. For them, users is the number of users read, recorded that of notifications recorded, and sent that of deliveries sent immediately.';
CREATE INDEX fanouts_open ON fanouts (started_at) WHERE state IN ('running', 'paused');
CREATE INDEX fanouts_recent ON fanouts (started_at DESC);

-- The few pages of each fan-out that are planned and not completed.
CREATE TABLE fanout_pages (
    fanout         bigint NOT NULL REFERENCES fanouts ON DELETE CASCADE,
    page           bigint NOT NULL,
    after          text COLLATE "C" NOT NULL,
    upto           text COLLATE "C" NOT NULL,
    handed_over_at timestamptz,
    copies         smallint NOT NULL DEFAULT 0,
    taken_at       timestamptz,
    claim          bigint,
    takes          smallint NOT NULL DEFAULT 0,
    PRIMARY KEY (fanout, page)
);
CREATE INDEX fanout_pages_order ON fanout_pages ((coalesce(handed_over_at, '-infinity')));

-- Finds the open fan-outs that name a user as the end of a page: if the user is erased, another user takes this place.
CREATE INDEX fanouts_planned_to ON fanouts (planned_to) WHERE planned_to <> '';
CREATE INDEX fanout_pages_after ON fanout_pages (after);
CREATE INDEX fanout_pages_upto ON fanout_pages (upto);
CREATE FUNCTION fanouts_bounded_by(of_app text, who text) RETURNS TABLE (number bigint, topic text)
LANGUAGE sql STABLE
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
    SELECT f.number, f.topic
    FROM (
        SELECT number FROM fanouts WHERE planned_to = who AND planned_to <> ''
        UNION SELECT fanout FROM fanout_pages WHERE after = who
        UNION SELECT fanout FROM fanout_pages WHERE upto = who
    ) AS bounded (number)
    JOIN fanouts f ON f.number = bounded.number
    WHERE f.app || '' = of_app AND f.state || '' IN ('running', 'paused')
$$;
COMMENT ON COLUMN fanout_pages.after IS 'The page contains the users after this one, up to and including upto.';
COMMENT ON COLUMN fanout_pages.handed_over_at IS
    'When its message was last published or taken; null if one is to be published; infinity if none is, because the fan-out is paused.';
COMMENT ON COLUMN fanout_pages.copies IS 'The number of times that its message was considered lost. Each time this takes longer, since the message may only be waiting.';
COMMENT ON COLUMN fanout_pages.claim IS 'The batch that took it last.';
COMMENT ON COLUMN fanout_pages.takes IS 'The number of batches that took it: a page that repeatedly kills its worker is set aside.';
COMMENT ON COLUMN fanout_pages.taken_at IS 'When a worker began to process it.';
