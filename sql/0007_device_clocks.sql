-- admits 6
-- The device's language and time zone are defaults: a value that was set, by the user or by the app's servers, outranks
-- them, and a device's report changes only a value that another report has set.

ALTER TABLE recipients
    ADD COLUMN locale_is_default   boolean NOT NULL DEFAULT false,
    ADD COLUMN timezone_is_default boolean NOT NULL DEFAULT false;

-- During a rolling upgrade, a program that does not know these columns may set a value. A report never changes
-- source_time, except from -infinity to the epoch, so a later time with an unchanged mark comes from such a program.
CREATE FUNCTION note_set_clock() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.locale IS DISTINCT FROM OLD.locale THEN NEW.locale_is_default := false; END IF;
    IF NEW.timezone IS DISTINCT FROM OLD.timezone THEN NEW.timezone_is_default := false; END IF;
    RETURN NEW;
END
$$;
CREATE TRIGGER recipients_set_clock BEFORE UPDATE OF locale, timezone ON recipients
    FOR EACH ROW WHEN (NEW.source_time > OLD.source_time AND NEW.source_time > 'epoch'
                       AND (NEW.locale_is_default OR NEW.timezone_is_default))
    EXECUTE FUNCTION note_set_clock();

COMMENT ON COLUMN recipients.locale_is_default IS 'Whether a device reported the language and no update has set it.';
COMMENT ON COLUMN recipients.timezone_is_default IS
    'Whether a device reported the time zone and no update has set it.';
