-- admits 7
-- A user who ends a pause early gets the deliveries that wait for its end. They become due at the end of the pause that
-- is in effect now, or immediately, and the rules run again.

-- Returns the end of the pause in a document of `people`; null if there is none. A document of an app without a
-- catalogue may contain any text.
CREATE FUNCTION pause_end(preferences text) RETURNS timestamptz
LANGUAGE plpgsql STABLE AS $$
DECLARE
    said text := preferences::jsonb ->> 'pausedUntil';
BEGIN
    IF said IS NULL OR said !~ '^[0-9]{4}-' THEN
        RETURN NULL;
    END IF;
    BEGIN
        RETURN said::timestamptz;
    EXCEPTION WHEN data_exception THEN
        RETURN NULL;
    END;
END
$$;

-- Brings forward at most `most` of each user's deliveries that wait for the end of a pause and are due after the end of
-- the present one. It locks the users' rows first, because a change of the pause may not be committed yet. A delivery
-- that another statement has locked is skipped: it is being released already. The function has its owner's rights,
-- since signed-in users have no access to the ledger.
CREATE FUNCTION release_paused(apps text[], users text[], most integer) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    released bigint;
BEGIN
    PERFORM FROM (
        SELECT FROM unnest(apps, users) AS r (app, user_id)
        JOIN people p ON p.user_id = ANY (ARRAY[r.user_id]) AND p.app = r.app
        ORDER BY r.user_id COLLATE "C", r.app COLLATE "C"
        FOR SHARE OF p
    ) AS held;
    UPDATE ledger l
    SET due_at = e.ends_at,
        decision = coalesce(l.decision, '{}') || jsonb_build_object(
            'until', to_char(e.ends_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))
    FROM (
        SELECT d.person, d.id, d.target, w.ends_at
        FROM (
            SELECT DISTINCT p.number, greatest(now(), pause_end(p.preferences)) AS ends_at
            FROM unnest(apps, users) AS r (app, user_id)
            JOIN people p ON p.user_id = ANY (ARRAY[r.user_id]) AND p.app = r.app
        ) AS w
        CROSS JOIN LATERAL (
            SELECT person, id, target FROM ledger
            WHERE person = w.number AND due_at IS NOT NULL AND sent_at IS NULL AND due_at > w.ends_at
              AND state = 'w' AND reason = 'paused'
            ORDER BY person, due_at LIMIT most
            FOR UPDATE SKIP LOCKED
        ) AS d
        OFFSET 0
    ) AS e
    WHERE l.person = ANY (ARRAY[e.person]) AND l.id = e.id AND l.target = e.target;
    GET DIAGNOSTICS released = ROW_COUNT;
    RETURN released;
END
$$;

REVOKE EXECUTE ON FUNCTION release_paused(text[], text[], integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION release_paused(text[], text[], integer) TO bellhop_worker, bellhop_api;

-- It has its owner's rights, and a caller could create a temporary table of any name.
DO $$
BEGIN
    EXECUTE format(
        'ALTER FUNCTION release_paused(text[], text[], integer) SET search_path TO %I, pg_temp', current_schema()
    );
END
$$;
