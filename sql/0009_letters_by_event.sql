-- Whoever asks what became of an event looks for its dead letters, too.
CREATE INDEX dead_letters_event ON dead_letters (app, event_id) WHERE event_id IS NOT NULL;
