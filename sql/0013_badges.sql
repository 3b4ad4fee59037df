-- The number on an app's icon is the number of unread notifications. Whoever reads one, by whatever way, leaves a word
-- here, and the user's devices are told soon after.
CREATE INDEX notifications_unread ON notifications (app, user_id) WHERE read_at IS NULL;

CREATE TABLE badge_updates (
    app            text COLLATE "C" NOT NULL,
    user_id        text COLLATE "C" NOT NULL,
    requested_at   timestamptz NOT NULL DEFAULT now(),
    handed_over_at timestamptz,
    PRIMARY KEY (app, user_id)
) WITH (fillfactor = 70);
CREATE INDEX badge_updates_order ON badge_updates (requested_at);
COMMENT ON TABLE badge_updates IS 'Users whose unread count has fallen since their devices were last told.';
GRANT SELECT, INSERT, UPDATE, DELETE ON badge_updates TO bellhop_worker, bellhop_admin;

-- With the owner's rights: a signed-in user may read, and shall not write to this table.
CREATE FUNCTION note_badge_updates() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
    INSERT INTO badge_updates (app, user_id)
    SELECT DISTINCT n.app, n.user_id
    FROM now_is n JOIN was w ON w.app = n.app AND w.user_id = n.user_id AND w.id = n.id
    WHERE (w.read_at IS NULL) <> (n.read_at IS NULL)
    ORDER BY n.app, n.user_id
    ON CONFLICT (app, user_id) DO UPDATE SET requested_at = now(), handed_over_at = NULL;
    RETURN NULL;
END
$$;
CREATE TRIGGER notifications_read AFTER UPDATE ON notifications
    REFERENCING OLD TABLE AS was NEW TABLE AS now_is
    FOR EACH STATEMENT EXECUTE FUNCTION note_badge_updates();
