-- What waits comes back urgent things first, then the oldest, whatever has piled up meanwhile.
ALTER TABLE deliveries ADD COLUMN urgency smallint NOT NULL DEFAULT 1 CHECK (urgency BETWEEN 0 AND 2);
COMMENT ON COLUMN deliveries.urgency IS '0 for priority high, 1 normal, 2 low: the order in which due work is handed over.';
DROP INDEX deliveries_due;
CREATE INDEX deliveries_due ON deliveries (urgency, due_at) WHERE due_at IS NOT NULL;

ALTER TABLE events
    ADD COLUMN urgency smallint NOT NULL DEFAULT 1 CHECK (urgency BETWEEN 0 AND 2),
    ADD COLUMN handed_over_at timestamptz;
COMMENT ON COLUMN events.handed_over_at IS 'When a scheduler last published the event for its expansion; null until it falls due.';
DROP INDEX events_planned;
CREATE INDEX events_planned ON events (urgency, planned_at) WHERE expanded_at IS NULL AND cancelled_at IS NULL;

-- A reminder is planned by the scheduler: next_fire_at is null whenever its words or its user's zone have changed.
ALTER TABLE reminders
    ADD COLUMN event_type text COLLATE "C",
    ADD COLUMN planned_from timestamptz NOT NULL DEFAULT now(),
    ADD COLUMN next_fire_at timestamptz,
    ADD COLUMN last_fired_on date;
COMMENT ON COLUMN reminders.planned_from IS 'The instant after which the next firing is looked for.';
COMMENT ON COLUMN reminders.last_fired_on IS 'The local date of the last firing: there is one for each date.';
CREATE INDEX reminders_unplanned ON reminders (app, user_id, id) WHERE next_fire_at IS NULL AND removed_at IS NULL;
CREATE INDEX reminders_due ON reminders (next_fire_at) WHERE removed_at IS NULL;
