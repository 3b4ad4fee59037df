import BellhopRules
import Postgres

/// The SQL of the ledger.
enum LedgerStatements {
    /// What this very claim holds already, since an answer was lost on the way, it gets again.
    ///
    /// What waits in a backlog has no due time, and is nobody's but for who pulls it from there.
    ///
    /// A claim on another's `sending` line takes it over after the lease and writes down that its outcome is unknown,
    /// before anything is sent; `due_at` then keeps it in the sweeper's sight until it is settled. It waits for no lock:
    /// `unclaimed` finds the lines that it had to leave out. The last column says how many lines are owed: as many as it
    /// returns where it has left out none.
    static let claim = Statement(
        """
        WITH owed AS (
            SELECT d.app, d.user_id, d.notification_id, d.channel, d.target, d.attempts, d.decision,
                   least(d.unknown_sends + (d.state = 'sending' AND d.claim IS DISTINCT FROM $4)::integer, 32000)
                       AS unknown_sends,
                   CASE WHEN d.claim = $4 THEN 'pending' ELSE d.state END AS state,
                   CASE d.state
                       WHEN 'pending' THEN true
                       WHEN 'sending' THEN d.claim = $4 OR d.updated_at + $5::bigint * interval '1 ms' <= now()
                       ELSE coalesce(d.due_at <= now() + interval '1 s', false)
                   END AS is_free,
                   CASE d.state
                       WHEN 'sending' THEN d.updated_at + $5::bigint * interval '1 ms'
                       ELSE coalesce(d.due_at, now())
                   END AS free_at
            FROM unnest($1::text[], $2::text[], $3::text[]) AS k (app, user_id, id)
            JOIN deliveries d
                ON d.app = k.app AND d.user_id = ANY (ARRAY[k.user_id]) AND d.notification_id = k.id
            WHERE d.state IN ('pending', 'sending', 'retrying', 'deferred')
            ORDER BY d.app, d.user_id, d.notification_id, d.channel, d.target
            FOR UPDATE OF d SKIP LOCKED
        ), taken AS (
            UPDATE deliveries d
            SET state = 'sending', claim = $4, unknown_sends = o.unknown_sends, updated_at = now(),
                due_at = now() + $5::bigint * interval '1 ms' + interval '1 min'
            FROM owed o
            WHERE o.is_free AND d.app = o.app AND d.user_id = ANY (ARRAY[o.user_id])
              AND d.notification_id = o.notification_id AND d.channel = o.channel AND d.target = o.target
        )
        SELECT app, user_id, notification_id, channel, target, attempts::bigint, state, is_free,
               ceil(extract(epoch FROM free_at - now()) * 1000)::bigint, unknown_sends::bigint,
               decision ->> '\(Wait.slotKey)', (
                   SELECT count(*)
                   FROM unnest($1::text[], $2::text[], $3::text[]) AS k (app, user_id, id)
                   JOIN deliveries d
                       ON d.app = k.app AND d.user_id = ANY (ARRAY[k.user_id]) AND d.notification_id = k.id
                   WHERE d.state IN ('pending', 'sending', 'retrying', 'deferred')
               )
        FROM owed
        """
    )

    /// What is owed of these notifications and not under this claim.
    ///
    /// What `claim` has not told of then is a line on which another statement had a lock: that of a worker that has died
    /// meanwhile ends without a change, so nobody else may see to it.
    static let unclaimed = Statement(
        """
        SELECT d.app, d.user_id, d.notification_id, d.channel, d.target
        FROM unnest($1::text[], $2::text[], $3::text[]) AS k (app, user_id, id)
        JOIN deliveries d ON d.app = k.app AND d.user_id = ANY (ARRAY[k.user_id]) AND d.notification_id = k.id
        WHERE d.state IN ('pending', 'sending', 'retrying', 'deferred') AND d.claim IS DISTINCT FROM $4
        """,
        effect: .reads
    )

    /// Only its own claim: a line that was taken over after the lease belongs to another.
    ///
    /// What was recorded by the statement that claimed it has its turn by that time, unless another is given.
    ///
    /// What stays accepted keeps the time of its send, and what is settled otherwise loses it: `sent_at` tells the two apart
    /// for the indexes.
    static let settle = Statement(
        """
        UPDATE deliveries d
        SET state = s.state, reason = s.reason, attempts = least(d.attempts + s.burns::integer, 32000),
            unknown_sends = least(d.unknown_sends + s.is_unknown::integer, 32000),
            provider_message_id = coalesce(s.provider_message_id, d.provider_message_id),
            due_at = now() + s.due_in * interval '1 ms', decision = CASE
                WHEN s.decision IS NULL THEN d.decision ELSE coalesce(d.decision, '{}') || s.decision END,
            sent_at = CASE s.state WHEN 'accepted' THEN coalesce(s.sent_at, d.sent_at, now()) END,
            outlet = s.outlet, updated_at = now(), claim = NULL,
            queued_at = CASE WHEN s.outlet IS NOT NULL THEN coalesce(s.queued_at, d.updated_at) END
        FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[],
                    $9::boolean[], $10::bigint[], $12::boolean[], $13::jsonb[], $14::timestamptz[],
                    $15::text[], $16::timestamptz[])
             AS s (app, user_id, id, channel, target, state, reason, provider_message_id, burns, due_in, is_unknown,
                   decision, sent_at, outlet, queued_at)
        WHERE d.app = s.app AND d.user_id = ANY (ARRAY[s.user_id]) AND d.notification_id = s.id
          AND d.channel = s.channel AND d.target = s.target AND d.claim = $11 AND d.state IN ('sending', 'accepted')
        """
    )
}
