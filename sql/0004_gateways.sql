-- What the workers share about the providers: who refuses us, and how much each may still be sent.

CREATE TABLE breakers (
    app          text COLLATE "C" NOT NULL,
    provider     text COLLATE "C" NOT NULL,
    platform     text COLLATE "C" NOT NULL DEFAULT '',
    reason       text COLLATE "C" NOT NULL,
    opened_at    timestamptz NOT NULL DEFAULT now(),
    probe_at     timestamptz NOT NULL,
    deaths_since timestamptz,
    failures     integer NOT NULL DEFAULT 0,
    PRIMARY KEY (app, provider, platform)
);
COMMENT ON TABLE breakers IS 'Providers that refuse our keys or settings: a row is an open breaker, work for it waits.';
COMMENT ON COLUMN breakers.platform IS 'Empty where all devices of the provider are concerned.';
COMMENT ON COLUMN breakers.probe_at IS 'From when on one worker may try a single message; whoever tries moves it ahead.';
COMMENT ON COLUMN breakers.deaths_since IS
    'Devices that were called dead from then on live again when it closes; null where nobody doubts such answers.';

-- The hand brake: what an operator keeps from being sent, until they release it.
CREATE TABLE holds (
    number    bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    app       text COLLATE "C" NOT NULL,
    type      text COLLATE "C" NOT NULL DEFAULT '',
    provider  text COLLATE "C" NOT NULL DEFAULT '',
    placed_at timestamptz NOT NULL DEFAULT now(),
    operator  text NOT NULL,
    because   text NOT NULL,
    CONSTRAINT holds_scope UNIQUE (app, type, provider)
);
COMMENT ON TABLE holds IS
    'What is not sent: a row is a hold that is in force, and what it concerns waits in its backlog. The audit keeps those that are over.';
COMMENT ON COLUMN holds.type IS 'Empty for every type.';
COMMENT ON COLUMN holds.provider IS 'Empty for every provider, e-mail included.';

-- Who runs: each worker and scheduler says so every ten seconds, with what it goes by and what troubles it.
CREATE TABLE processes (
    id         text COLLATE "C" PRIMARY KEY,
    role       text COLLATE "C" NOT NULL,
    version    text COLLATE "C" NOT NULL,
    schema_version  integer NOT NULL DEFAULT 0,
    message_version integer NOT NULL DEFAULT 0,
    host       text NOT NULL,
    process    integer NOT NULL,
    catalogs   text COLLATE "C" NOT NULL,
    refusal    text,
    troubles   jsonb NOT NULL DEFAULT '[]',
    pulls      jsonb NOT NULL DEFAULT '{}',
    hindrance  text,
    heard_at   timestamptz,
    figures    jsonb NOT NULL DEFAULT '{}',
    started_at timestamptz NOT NULL DEFAULT now(),
    seen_at    timestamptz NOT NULL DEFAULT now(),
    draining_since timestamptz
);
CREATE INDEX processes_seen ON processes (seen_at);
COMMENT ON TABLE processes IS 'A row for each process; who has not been seen for half a minute is gone.';
COMMENT ON COLUMN processes.schema_version IS 'The schema that its program was built for.';
COMMENT ON COLUMN processes.message_version IS 'The newest form of internal messages that its program reads.';
COMMENT ON COLUMN processes.catalogs IS 'A fingerprint of the catalogues in force: the same files have the same.';
COMMENT ON COLUMN processes.refusal IS 'Why the last reload was refused; null where the files on disk are in force.';
COMMENT ON COLUMN processes.troubles IS 'Providers that take nothing: app, provider, their word, since when, how many answers.';
COMMENT ON COLUMN processes.pulls IS 'Deliveries a second that it pulls from each backlog.';
COMMENT ON COLUMN processes.hindrance IS 'What keeps it from taking messages; null where nothing does.';
COMMENT ON COLUMN processes.draining_since IS 'Since when it takes nothing new and ends what it holds; null where it does not.';
COMMENT ON COLUMN processes.heard_at IS 'When it took a message of its own from a queue last, which is how it proves that it consumes.';
COMMENT ON COLUMN processes.figures IS 'What it has done since it started, and how long things took: numbers that only grow.';

CREATE TABLE provider_budgets (
    name        text COLLATE "C" PRIMARY KEY,
    tokens      double precision NOT NULL,
    refilled_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
COMMENT ON TABLE provider_budgets IS 'A bucket for each provider account: what all workers together may still send.';

-- AMQP cannot list bindings: `topology apply` writes down what it bound, so that types that went away are unbound.
CREATE TABLE topology_bindings (
    routing_key text COLLATE "C" PRIMARY KEY,
    lane        text COLLATE "C" NOT NULL CHECK (lane IN ('urgent', 'normal', 'bulk')),
    applied_at  timestamptz NOT NULL DEFAULT now()
);
