-- The keys of what a user owns begin with the user, then name the app. A look-up in a b-tree compares column by column, and
-- an app has so many users that its name is equal at every step but one: in front it doubles the work. The user differs at
-- once. The columns of each key are the same as before, so it guards the same.
ALTER TABLE notifications DROP CONSTRAINT notifications_pkey, ADD PRIMARY KEY (user_id, app, id);
DROP INDEX notifications_inbox;
CREATE INDEX notifications_inbox ON notifications (user_id, app, created_at DESC, id DESC);
DROP INDEX notifications_unread;
CREATE INDEX notifications_unread ON notifications (user_id, app) WHERE read_at IS NULL;
ALTER TABLE deliveries DROP CONSTRAINT deliveries_pkey, ADD PRIMARY KEY (user_id, app, notification_id, channel, target);
ALTER TABLE recipients DROP CONSTRAINT recipients_pkey, ADD PRIMARY KEY (user_id, app);
ALTER TABLE notification_preferences DROP CONSTRAINT notification_preferences_pkey, ADD PRIMARY KEY (profile_id, app);
ALTER TABLE push_subscriptions DROP CONSTRAINT push_subscriptions_pkey, ADD PRIMARY KEY (profile_id, app, id);
ALTER TABLE follows DROP CONSTRAINT follows_pkey, ADD PRIMARY KEY (user_id, app, topic);
ALTER TABLE reminders DROP CONSTRAINT reminders_pkey, ADD PRIMARY KEY (user_id, app, id);
ALTER TABLE badge_updates DROP CONSTRAINT badge_updates_pkey, ADD PRIMARY KEY (user_id, app);
