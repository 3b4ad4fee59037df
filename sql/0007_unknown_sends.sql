-- A repeat is counted, never silent: by the process that sends it, and here, where no crash can lose it.
ALTER TABLE deliveries ADD COLUMN unknown_sends smallint NOT NULL DEFAULT 0;
COMMENT ON COLUMN deliveries.unknown_sends IS
    'Sends whose outcome nobody learnt: a claimer that never settled, or a request without an answer. A provider may have got the message once more for each of them.';
