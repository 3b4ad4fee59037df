-- A scheduler that looks at a reminder has it in hand for a moment: the others look at others meanwhile, and what changes
-- in between (its words, its user's zone) takes it out of its hand, so that a plan by the old ones is not kept.
ALTER TABLE reminders ADD COLUMN held_until timestamptz;
COMMENT ON COLUMN reminders.held_until IS
    'Until when a scheduler has it in hand, and which one: whoever changes the reminder or its zone sets null.';
