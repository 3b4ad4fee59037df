-- Whom a letter is for, as the hashes that tombstones have, so that it is found when one of them is erased.
ALTER TABLE dead_letters ADD COLUMN people text[] COLLATE "C" NOT NULL DEFAULT '{}';
COMMENT ON COLUMN dead_letters.people IS
    'Whom the message is for, as far as it tells: first 16 bytes of SHA-256 over kind, app and user, in hex.';
CREATE INDEX dead_letters_people ON dead_letters USING gin (people);

-- Letters that were filed before: those that are legible say for whom they are; the others stay as they are.
DO $$
DECLARE
    letter record;
    said jsonb;
    named jsonb;
BEGIN
    FOR letter IN SELECT dead_id, app, body FROM dead_letters WHERE app IS NOT NULL LOOP
        BEGIN
            said := convert_from(letter.body, 'UTF8')::jsonb;
            IF said ? 'specversion' THEN
                said := said -> 'data';
            END IF;
            named := CASE WHEN jsonb_typeof(said #> '{to,users}') = 'array' THEN said #> '{to,users}' ELSE '[]' END
                || coalesce(said #> '{to,user}', '[]') || coalesce(said -> 'userId', '[]');
            UPDATE dead_letters d SET people = ARRAY(
                SELECT encode(substring(sha256(convert_to('recipient', 'UTF8') || '\x00'::bytea
                    || convert_to(letter.app, 'UTF8') || '\x00'::bytea || convert_to(who, 'UTF8')) FROM 1 FOR 16), 'hex')
                FROM jsonb_array_elements_text(named) AS who)
            WHERE d.dead_id = letter.dead_id;
        EXCEPTION WHEN OTHERS THEN
            NULL;
        END;
    END LOOP;
END
$$;

CREATE INDEX events_users ON events USING gin ((content #> '{to,users}')) WHERE content #> '{to,users}' IS NOT NULL;

-- Indexes of lists are read by bitmaps, which workers do without. As functions these two look-ups are planned at each call,
-- by what the tables hold at that moment.
CREATE FUNCTION letters_about(person text) RETURNS SETOF text
LANGUAGE sql STABLE SET enable_seqscan = off SET enable_indexscan = off SET enable_bitmapscan = on AS $$
    SELECT d.dead_id FROM dead_letters d WHERE d.people @> ARRAY[person] LIMIT 20
$$;
CREATE FUNCTION events_kept_for(who text) RETURNS TABLE (app text, id text)
LANGUAGE sql STABLE SET enable_seqscan = off SET enable_indexscan = off SET enable_bitmapscan = on AS $$
    SELECT e.app, e.id FROM events e WHERE (e.content #> '{to,users}') ? who
$$;

-- Erasures that are looked after once more, when all has ended that had begun before them. Until then they say whose they
-- are: nothing else knows, since a tombstone is a hash.
CREATE TABLE erasures (
    app         text COLLATE "C" NOT NULL,
    user_id     text COLLATE "C" NOT NULL,
    said_at     timestamptz NOT NULL,
    recorded_at timestamptz NOT NULL DEFAULT now(),
    transaction xid8 NOT NULL DEFAULT pg_current_xact_id(),
    PRIMARY KEY (user_id, app)
);
CREATE INDEX erasures_order ON erasures (recorded_at);
COMMENT ON TABLE erasures IS 'People whose erasure is repeated a minute later, and who are then forgotten here, too.';
GRANT SELECT, INSERT, UPDATE, DELETE ON erasures TO bellhop_worker, bellhop_admin;

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
DO $$
BEGIN
    EXECUTE format(
        'ALTER FUNCTION forget_in_filters(text[], text[]) SET search_path = %I, pg_temp', current_schema()
    );
END
$$;
REVOKE EXECUTE ON FUNCTION forget_in_filters(text[], text[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION forget_in_filters(text[], text[]) TO bellhop_worker, bellhop_admin;
CREATE INDEX audit_user ON audit ((filter ->> 'user')) WHERE filter ->> 'user' IS NOT NULL;
CREATE INDEX replays_user ON replays ((filter ->> 'user')) WHERE filter ->> 'user' IS NOT NULL;
COMMENT ON TABLE audit IS
    'Who did what at the desk, to how many items, and why: rows are added and never changed, but that an erased user is taken out of a filter.';

-- A copy of a redelivered message looks at one item of its content, however many there are.
DROP INDEX dead_letters_content;
CREATE INDEX dead_letters_waiting_content ON dead_letters (content_hash, filed_at, dead_id)
    WHERE state IN ('open', 'replaying');
CREATE INDEX dead_letters_closed_content ON dead_letters (content_hash, changed_at)
    WHERE state IN ('resolved', 'discarded');
COMMENT ON COLUMN dead_letters.copies IS
    'How often a redelivered message has brought the same letter; for what the broker took, how often the same has died.';

