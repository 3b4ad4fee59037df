-- The in-app records and the ledger of their deliveries. Both grow without end and are written at every event, so they are
-- lean: a user is a number, an id its eight bytes, a state one letter, JSON that nobody searches is text. The views
-- `notifications` and `deliveries` say the same in words; they are what programs outside may read.

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
    'The in-app record: one row for each (app, event, user), whatever is redelivered, replayed or restarted.';
COMMENT ON COLUMN inbox.id IS 'The eight bytes that the digits of a notification''s id stand for.';
COMMENT ON COLUMN inbox.urgency IS '0 for priority high, 1 normal, 2 low.';
COMMENT ON COLUMN inbox.unsent IS
    'Where no device was eligible: the state of the push, suppressed or expired. It was never to be sent, and has no line in the ledger.';
COMMENT ON COLUMN inbox.content_hash IS
    'First 16 bytes of SHA-256 over the content: the same id with another hash is an id-conflict.';
COMMENT ON COLUMN inbox.said_at IS 'When its source said it (sentAtIso); null where it did not say.';
COMMENT ON COLUMN inbox.link_web IS
    'Where a tap leads: the web app''s path, the mobile app''s route and, where its catalogue has one, the URL of its own scheme. All null where nothing says so.';
COMMENT ON COLUMN inbox.extras IS
    'What only few bring and only a push needs, so that a retry finds everything here: imageUrl, expiresAt, topic, everyone, traceparent, tracestate.';
COMMENT ON COLUMN inbox.seen_at IS 'When its user had it before their eyes, whether or not they read it.';
COMMENT ON COLUMN inbox.archived_at IS 'When its user put it away; null for what is in the list.';
COMMENT ON COLUMN inbox.snoozed_until IS
    'Until when its user did not want to see it. From then on it stands in the list as if it were as new as that.';

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
-- A line is written twice within a second, when it is claimed and when it is settled, and a whole batch is settled at once:
-- nothing of it can be cleared away before all of it is written. What is left free has room for all second versions of a
-- page, with what a provider's id adds to them; then no index hears of the settlement.
COMMENT ON TABLE ledger IS 'What is owed and what became of it: it alone decides what is still to be sent.';
COMMENT ON COLUMN ledger.target IS
    'The eight bytes that the digits of a subscription''s id stand for; 0 for the user''s mailbox, -1 for nobody.';
COMMENT ON COLUMN ledger.state IS 'One letter; delivery_state() has the word.';
COMMENT ON COLUMN ledger.claim IS
    'Names the batch that has the right to send and to settle; whoever claims after the lease writes another.';
COMMENT ON COLUMN ledger.unknown_sends IS
    'Sends whose outcome nobody learnt: a claimer that never settled, or a request without an answer. A provider may have got the message once more for each of them.';
COMMENT ON COLUMN ledger.urgency IS '0 for priority high, 1 normal, 2 low: the order in which due work is handed over.';
COMMENT ON COLUMN ledger.sent_at IS
    'When what is accepted was sent: receipts are asked for from then on for a day, and a device that was registered later lives. Null in every other state.';

COMMENT ON COLUMN ledger.outlet IS
    'The backlog that the line waits in: its app, its provider, and the platform where only that is held up; else null. Whoever has room pulls it: such a line has no due_at, so that the sweeper never sees it.';
COMMENT ON COLUMN ledger.queued_at IS
    'Its place in the backlog: when it was recorded, as far as that is known; null outside of a backlog.';

-- `bellhop migrate --partitions N` spreads both over so many tables by the user: smaller indexes, whose upper pages stay in
-- memory, and tables that are vacuumed one by one. What a batch does names its users, and goes to their partitions alone; who
-- asks for what is due asks all of them.
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
-- Rows of the few who snooze and put away: what is recorded touches neither.
CREATE INDEX inbox_snoozed ON inbox (person, snoozed_until DESC, id DESC) WHERE snoozed_until IS NOT NULL;
-- The number on an app's icon is counted at every push: it reads what is unread, and not what is stored. The order serves
-- nobody; it lets the server take no other index for as good.
CREATE INDEX inbox_unread ON inbox (person, urgency) WHERE read_at IS NULL AND archived_at IS NULL;
-- A later one with the same collapse key is found by it, however many others are newer.
CREATE INDEX inbox_collapsed ON inbox (person, collapse_key, created_at, id) WHERE collapse_key IS NOT NULL;
CREATE INDEX inbox_archived ON inbox (person, created_at DESC, id DESC) WHERE archived_at IS NOT NULL;

-- What goes out at once has no due_at from its insertion to its settlement: neither touches an index, and the update can
-- stay on its page. What waits is found by its time, and with what else its user is owed. What a provider has taken and
-- answers for later is told apart by sent_at and not by the state: an index that looks at the state would move every line
-- that is settled.
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
-- Null for what is no notification's id.
CREATE FUNCTION notification_number(name text) RETURNS bigint
LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN name ~ '^noti_[0-9a-f]{16}$' THEN ('x' || substr(name, 6))::bit(64)::bigint END
$$;
CREATE FUNCTION target_name(number bigint) RETURNS text
LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE number WHEN 0 THEN 'email' WHEN -1 THEN '-' ELSE 'sub_' || lpad(to_hex(number), 16, '0') END
$$;
-- Null for what is no target.
CREATE FUNCTION target_number(name text) RETURNS bigint
LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE
        WHEN name = 'email' THEN 0 WHEN name = '-' THEN -1
        WHEN name ~ '^sub_[0-9a-f]{16}$' THEN ('x' || substr(name, 5))::bit(64)::bigint
    END
$$;
-- As it is served; null where there is none.
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
COMMENT ON VIEW notifications IS 'The inbox in words.';

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
COMMENT ON VIEW deliveries IS 'The ledger in words, with what was never to be sent.';

-- The number on an app's icon is the number of unread notifications in the list. Whoever reads one or puts it away, by
-- whatever way, leaves a word here, and the user's devices are told soon after.
CREATE TABLE badge_updates (
    app            text COLLATE "C" NOT NULL,
    user_id        text COLLATE "C" NOT NULL,
    requested_at   timestamptz NOT NULL DEFAULT now(),
    handed_over_at timestamptz,
    PRIMARY KEY (user_id, app)
) WITH (fillfactor = 70);
CREATE INDEX badge_updates_order ON badge_updates (requested_at);
COMMENT ON TABLE badge_updates IS 'Users whose unread count has fallen since their devices were last told.';

-- With the owner's rights: a signed-in user may read, and shall not write to this table. What has changed is counted, user by
-- user: to compare row by row would take the square of as many rows as one statement reads.
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

-- Processes to which pages of users are open that want to hear at once of what is new. While there is none, nobody announces
-- anything.
CREATE TABLE listeners (
    process bigint PRIMARY KEY,
    until   timestamptz NOT NULL
);
COMMENT ON TABLE listeners IS 'Who has streams of users open; whoever does not renew its row in time is taken for dead.';

-- An event for a wider audience than named users, or for later, is kept once until it is expanded.
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
    'What is published when the event falls due, as text: jsonb writes numbers out and puts blanks between members, so that an event could come to weigh more than one may.';
COMMENT ON COLUMN events.handed_over_at IS 'When a scheduler last published the event for its expansion; null until it falls due.';
COMMENT ON COLUMN events.cancelled_at IS 'Set also by a cancellation that overtook its event; the row then has no content.';
COMMENT ON COLUMN events.planned_at IS
    'When a scheduler sees to it that it goes out: its time, or half a minute after it came where that is at once.';
COMMENT ON COLUMN events.closed_reason IS 'Why an event for a wider audience was given up that nobody had expanded in time.';
-- What has still to go out: for a time that is to come, or left over by whoever should have expanded it.
CREATE INDEX events_due ON events (urgency, planned_at) WHERE expanded_at IS NULL AND cancelled_at IS NULL;
CREATE INDEX events_users ON events USING gin ((content #> '{to,users}')) WHERE content #> '{to,users}' IS NOT NULL;

-- Indexes of lists are read by bitmaps, which workers do without. As a function this look-up is planned at each call, by
-- what the table holds at that moment.
CREATE FUNCTION events_kept_for(who text) RETURNS TABLE (app text, id text)
LANGUAGE sql STABLE SET enable_seqscan = off SET enable_indexscan = off SET enable_bitmapscan = on AS $$
    SELECT e.app, e.id FROM events e WHERE (e.content #> '{to,users}') ? who
$$;

-- An event for a wider audience is expanded page by page: ranges of user ids with some thousand followers in each. Who is
-- meant was settled at started_at, whatever happens to the topic's followers while it goes on.
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
COMMENT ON COLUMN fanouts.trouble IS 'Why it paused by itself: a reason such as unknown-type; null where an operator paused it.';
COMMENT ON COLUMN fanouts.started_at IS
    'The moment of its snapshot: who began to follow later is not meant, and neither is who has left since.';
COMMENT ON COLUMN fanouts.worked_at IS 'When its latest page was finished.';
COMMENT ON COLUMN fanouts.finished_at IS 'When its last page was finished, or when it was cancelled.';
COMMENT ON COLUMN fanouts.paused_at IS 'Since when it is paused.';
COMMENT ON COLUMN fanouts.resumed_at IS
    'When it last began to run, and resumed_users how many users had been read by then: its rate counts from there.';
COMMENT ON COLUMN fanouts.planned IS 'How many pages there are so far; planned_to is the last user of the last one, forgotten with the end of the fan-out.';
COMMENT ON COLUMN fanouts.is_planned IS 'The last page of all is planned.';
COMMENT ON COLUMN fanouts.pages IS
    'How many pages are finished; in them so many users were read, notifications recorded and deliveries sent at once.';
CREATE INDEX fanouts_open ON fanouts (started_at) WHERE state IN ('running', 'paused');
CREATE INDEX fanouts_recent ON fanouts (started_at DESC);

-- The few pages of each that are planned and not finished.
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

-- Open fan-outs that name a user as the end of a page: somebody who is erased gives the place to another.
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
COMMENT ON COLUMN fanout_pages.after IS 'The page is of users beyond this one, up to and with upto.';
COMMENT ON COLUMN fanout_pages.handed_over_at IS
    'When its message was published last, or taken; null where one is to be published, infinity where none is, since its fan-out is paused.';
COMMENT ON COLUMN fanout_pages.copies IS 'How often its message was taken for lost: ever later, since it may only wait.';
COMMENT ON COLUMN fanout_pages.claim IS 'The batch that took it last.';
COMMENT ON COLUMN fanout_pages.takes IS 'By how many batches it was taken: what kills its worker again and again is put away.';
COMMENT ON COLUMN fanout_pages.taken_at IS 'When a worker began with it.';
