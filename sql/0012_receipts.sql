-- What a provider has taken and answers for later is asked about when it falls due. These lines have indexes of their own,
-- told apart by sent_at and not by the state: an index that looks at the state would move every line that is settled.
ALTER TABLE deliveries ADD COLUMN sent_at timestamptz;
COMMENT ON COLUMN deliveries.sent_at IS
    'When what is accepted was sent: receipts are asked for from then on for a day, and a device that was registered later lives. Null in every other state.';
DROP INDEX deliveries_due;
CREATE INDEX deliveries_due ON deliveries (urgency, due_at) WHERE due_at IS NOT NULL AND sent_at IS NULL;
CREATE INDEX deliveries_receipts ON deliveries (due_at) WHERE sent_at IS NOT NULL;
