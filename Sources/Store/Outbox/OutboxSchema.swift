/// The SQL that a publisher runs once in its own database: the outbox table, its triggers and `bellhop_publish`.
package enum OutboxSchema {
    /// The table that a relay empties.
    package static let table = "bellhop_outbox"
    /// The sequence of the rows' ids.
    package static let sequence = "bellhop_outbox_id_seq"
    /// The channel on which a commit wakes the relays.
    package static let channel = "bellhop_outbox"
    /// The number of slots into which keys are hashed.
    ///
    /// A slot belongs to one relay at a time, so that the events of a key never pass through two relays at the same time.
    package static let slots = 64
    /// The largest event in bytes, which is the limit of a message body.
    package static let largestEvent = 262_144

    /// The script, which psql runs as it is; a repetition has no effect.
    package static let script = """
        -- Bellhop's outbox. Run this once in the database of the application that publishes events:
        --
        --   bellhop relay --schema | psql "$APPLICATION_DATABASE_URL"
        --
        -- It may run again without harm. The table is created in the first schema of the search path.
        BEGIN;
        SET LOCAL client_min_messages TO warning;

        CREATE SEQUENCE IF NOT EXISTS bellhop_outbox_id_seq;

        CREATE TABLE IF NOT EXISTS bellhop_outbox (
            id bigint PRIMARY KEY,
            event jsonb NOT NULL,
            key text,
            created_at timestamptz NOT NULL DEFAULT now(),
            -- Keys are hashed into \(slots) slots; a slot belongs to one relay at a time.
            slot integer NOT NULL
        ) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);

        ALTER SEQUENCE bellhop_outbox_id_seq OWNED BY bellhop_outbox.id;

        -- Checks an event, and gives it an id that is higher than the id of every earlier event with the same key. The
        -- lock is shared: transactions do not wait for each other. A relay takes it exclusively, for the time of one
        -- query, and so reads a slot only while no transaction with a lower id in that slot is open.
        CREATE OR REPLACE FUNCTION bellhop_outbox_number() RETURNS trigger LANGUAGE plpgsql AS $body$
        DECLARE
            found text := coalesce(jsonb_typeof(NEW.event), 'nothing');
            size integer;
        BEGIN
            IF found <> 'object' THEN
                RAISE EXCEPTION 'bellhop_publish: the event must be a JSON object, found %', found
                    USING ERRCODE = 'invalid_parameter_value', HINT = 'Pass one event: {"id": …, "app": …, "eventType": …}';
            END IF;
            size := octet_length(NEW.event::text);
            IF size > \(largestEvent) THEN
                RAISE EXCEPTION 'bellhop_publish: the event has % bytes, and at most \(largestEvent) are allowed', size
                    USING ERRCODE = 'program_limit_exceeded', HINT = 'Store large data elsewhere and publish a reference.';
            END IF;
            NEW.slot := coalesce(hashtext(NEW.key) & \(slots - 1), trunc(random() * \(slots))::integer);
            PERFORM pg_advisory_xact_lock_shared(TG_RELID::integer, NEW.slot);
            NEW.id := nextval(format('%I.bellhop_outbox_id_seq', TG_TABLE_SCHEMA)::regclass);
            RETURN NEW;
        END
        $body$;

        -- Wakes the relays after the commit; PostgreSQL sends one notification per transaction, however many events.
        CREATE OR REPLACE FUNCTION bellhop_outbox_wake() RETURNS trigger LANGUAGE plpgsql AS $body$
        BEGIN
            PERFORM pg_notify('\(channel)', '');
            RETURN NULL;
        END
        $body$;

        DO $body$
        BEGIN
            IF NOT EXISTS (
                SELECT FROM pg_trigger WHERE tgrelid = 'bellhop_outbox'::regclass AND tgname = 'bellhop_outbox_number'
            ) THEN
                CREATE TRIGGER bellhop_outbox_number BEFORE INSERT ON bellhop_outbox
                    FOR EACH ROW EXECUTE FUNCTION bellhop_outbox_number();
                CREATE TRIGGER bellhop_outbox_wake AFTER INSERT ON bellhop_outbox
                    FOR EACH STATEMENT EXECUTE FUNCTION bellhop_outbox_wake();
            END IF;
        END
        $body$;

        -- Publishes an event when the current transaction commits, and not if it rolls back. Events with the same key
        -- reach the broker in the order of these calls. Returns the number of the row.
        CREATE OR REPLACE FUNCTION bellhop_publish(event jsonb, key text DEFAULT NULL) RETURNS bigint
        LANGUAGE sql SET search_path FROM CURRENT AS $body$
            INSERT INTO bellhop_outbox (event, key) VALUES ($1, $2) RETURNING id
        $body$;

        COMMENT ON TABLE bellhop_outbox IS 'Events that bellhop relay has not moved to the broker yet.';
        COMMIT;

        -- Rights. The owner of the table needs none of these. Replace the names with those of your log-ins.
        --
        --   The relay reads and deletes rows, reads the sequence, and listens (LISTEN requires no right):
        --     GRANT USAGE ON SCHEMA public TO bellhop_relay;
        --     GRANT SELECT, DELETE ON bellhop_outbox TO bellhop_relay;
        --     GRANT SELECT ON SEQUENCE bellhop_outbox_id_seq TO bellhop_relay;
        --
        --   The application adds rows:
        --     GRANT INSERT, SELECT (id) ON bellhop_outbox TO application;
        --     GRANT USAGE ON SEQUENCE bellhop_outbox_id_seq TO application;
        """
}
