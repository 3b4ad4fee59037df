-- What the operators work with.

CREATE TABLE dead_letters (
    dead_id            text COLLATE "C" PRIMARY KEY,
    fingerprint        text COLLATE "C" NOT NULL,
    state              text COLLATE "C" NOT NULL DEFAULT 'open'
                       CHECK (state IN ('open', 'replaying', 'resolved', 'discarded')),
    stage              text COLLATE "C" NOT NULL,
    reason             text COLLATE "C" NOT NULL,
    pointer            text,
    error              text NOT NULL,
    provider           text COLLATE "C",
    app                text COLLATE "C",
    event_type         text COLLATE "C",
    event_id           text COLLATE "C",
    user_id            text COLLATE "C",
    attempts           integer NOT NULL,
    copies             integer NOT NULL DEFAULT 1,
    first_failed_at    timestamptz NOT NULL,
    last_failed_at     timestamptz NOT NULL,
    origin_exchange    text NOT NULL,
    origin_routing_key text NOT NULL,
    properties         jsonb NOT NULL,
    headers            jsonb NOT NULL,
    body               bytea NOT NULL,
    content_hash       bytea NOT NULL,
    filed_at           timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX dead_letters_content ON dead_letters (content_hash);
CREATE INDEX dead_letters_groups ON dead_letters (state, fingerprint, last_failed_at);
CREATE INDEX dead_letters_apps ON dead_letters (app, last_failed_at);
COMMENT ON TABLE dead_letters IS 'One item for each rejected message or exhausted delivery, with the original message byte for byte.';

-- AMQP cannot list bindings: `topology apply` writes down what it bound, so that types that went away are unbound.
CREATE TABLE topology_bindings (
    routing_key text COLLATE "C" PRIMARY KEY,
    lane        text COLLATE "C" NOT NULL CHECK (lane IN ('urgent', 'normal', 'bulk')),
    applied_at  timestamptz NOT NULL DEFAULT now()
);
