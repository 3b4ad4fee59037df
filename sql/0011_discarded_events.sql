-- admits 7
-- Events whose held deliveries an operator has discarded. A delivery that a killed worker had claimed was not behind the
-- hold at that time. It comes back later, and the worker that gets it ends it.
CREATE TABLE discarded_events (
    app          text COLLATE "C" NOT NULL,
    event_id     text COLLATE "C" NOT NULL,
    type         text COLLATE "C" NOT NULL DEFAULT '',
    provider     text COLLATE "C" NOT NULL DEFAULT '',
    discarded_at timestamptz NOT NULL,
    PRIMARY KEY (app, event_id, type, provider)
);
COMMENT ON TABLE discarded_events IS
    'Events that operators have discarded behind a hold in the last 30 days. Of each, a delivery that was recorded before and whose send has an unknown outcome is not sent again.';
COMMENT ON COLUMN discarded_events.type IS 'The type of the hold; empty for every type.';
COMMENT ON COLUMN discarded_events.provider IS 'The provider of the hold; empty for every provider, e-mail included.';
GRANT SELECT ON discarded_events TO bellhop_worker;
GRANT SELECT, INSERT, UPDATE, DELETE ON discarded_events TO bellhop_admin;
