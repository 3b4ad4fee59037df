-- admits 7
-- A user is looked up once for each transaction and not for each table. Row-level security compares every row's user
-- with signed_in_person(), which PostgreSQL parsed and planned again for each statement and table: half of the time of a
-- user's list.

-- Looks up the number of the user who is named by `bellhop.app` and `bellhop.user`. It reads this schema's table,
-- whatever the caller's search_path is.
CREATE FUNCTION looked_up_person() RETURNS bigint
LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT p.number FROM people p
    WHERE p.user_id = current_setting('bellhop.user', true) AND p.app = current_setting('bellhop.app', true);
END;

-- An expression without a query, which the server inserts into each statement. A transaction that sets the names itself,
-- without sign_in(), has no `bellhop.person`, and neither has a user who had no number yet.
CREATE OR REPLACE FUNCTION signed_in_person() RETURNS bigint
LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT CASE
        WHEN current_setting('bellhop.person', true) <> '' THEN current_setting('bellhop.person', true)::bigint
        ELSE looked_up_person()
    END;
END;

-- As before, and stores the user's number for signed_in_person(). The assignments of a name run without a query.
CREATE OR REPLACE FUNCTION sign_in(wanted_app text, wanted_user text, subject bytea, issued_at timestamptz) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    ignored text;
    number bigint;
BEGIN
    ignored := set_config('bellhop.app', wanted_app, true);
    ignored := set_config('bellhop.user', wanted_user, true);
    IF subject IS NOT NULL AND EXISTS (
        SELECT FROM tombstones t
        WHERE t.app = ANY (ARRAY[wanted_app]) AND t.subject_hash = subject AND t.returned_at IS NULL
          AND (issued_at IS NULL OR t.deleted_at >= issued_at OR t.completed_at IS NULL)
    ) THEN
        RAISE EXCEPTION 'the user was erased' USING ERRCODE = 'BH401';
    END IF;
    number := (SELECT p.number FROM people p WHERE p.user_id = wanted_user AND p.app = wanted_app);
    ignored := set_config('bellhop.person', coalesce(number::text, ''), true);
END
$$;
