-- What an outlet cannot start at once waits in its backlog: written once, untouched while it waits, and pulled in order by
-- workers that have room. Such a line has no due_at, so that the sweeper never sees it.
ALTER TABLE deliveries ADD COLUMN outlet text COLLATE "C", ADD COLUMN queued_at timestamptz;
COMMENT ON COLUMN deliveries.outlet IS
    'The backlog that the line waits in: its app, its provider, and the platform where only that is held up; else null.';
COMMENT ON COLUMN deliveries.queued_at IS
    'Its place in the backlog: when it was recorded, as far as that is known; null outside of a backlog.';
CREATE INDEX deliveries_backlog ON deliveries (outlet, urgency, queued_at) WHERE outlet IS NOT NULL;
