-- What is published when its time has come, as text: jsonb writes numbers out and puts blanks between members, so that an
-- event could come to weigh more than one may.
ALTER TABLE events ADD COLUMN body text;
COMMENT ON COLUMN events.body IS
    'What is published when the event falls due; null for a wider audience, and where an older program kept it.';
-- Only what can fall due, told by what every program has written: events for a wider audience wait for no time.
DROP INDEX events_planned;
CREATE INDEX events_due ON events (urgency, planned_at)
    WHERE expanded_at IS NULL AND cancelled_at IS NULL AND content -> 'to' ? 'users';

-- What an alarm of deaths has to take back is known for as long as the breaker is open, whoever closes it and when.
ALTER TABLE breakers ADD COLUMN deaths_since timestamptz;
COMMENT ON COLUMN breakers.deaths_since IS
    'Devices that were called dead from then on live again when it closes; null where nobody doubts such answers.';
CREATE INDEX push_subscriptions_revoked ON push_subscriptions (app, provider, revoked_at, profile_id, id)
    WHERE revoked_at IS NOT NULL;

-- No key begins with the app, of which everything is: by such an index one device, or the letters of one user, could come
-- to be looked for among all of the app.
DROP INDEX push_subscriptions_token;
CREATE INDEX push_subscriptions_token ON push_subscriptions (md5(device_token));
DROP INDEX dead_letters_user;
CREATE INDEX dead_letters_user ON dead_letters (user_id, app);
DROP INDEX dead_letters_delivery;
CREATE UNIQUE INDEX dead_letters_delivery ON dead_letters (user_id, app, notification_id, channel, target)
    WHERE notification_id IS NOT NULL;
CREATE INDEX dead_letters_retirement ON dead_letters (changed_at)
    WHERE state IN ('resolved', 'discarded') AND replay_id IS NULL;
-- What is looked for by its id must find no other index with the id in it; the newest of a state are few at each instant.
DROP INDEX dead_letters_recent;
CREATE INDEX dead_letters_recent ON dead_letters (state, last_failed_at DESC);
CREATE INDEX dead_letters_open ON dead_letters (app, reason, first_failed_at) WHERE state = 'open';
