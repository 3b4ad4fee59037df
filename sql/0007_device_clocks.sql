-- admits 6
-- The device's language and time zone are defaults: a value that was set, by the user or by the app's servers, outranks
-- them, and a device's report changes only a value that another report has set.

ALTER TABLE recipients
    ADD COLUMN locale_is_default   boolean NOT NULL DEFAULT false,
    ADD COLUMN timezone_is_default boolean NOT NULL DEFAULT false;
COMMENT ON COLUMN recipients.locale_is_default IS 'Whether a device reported the language and no update has set it.';
COMMENT ON COLUMN recipients.timezone_is_default IS
    'Whether a device reported the time zone and no update has set it.';
