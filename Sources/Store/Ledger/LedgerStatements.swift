import BellhopRules
import Postgres

/// The ledger's SQL statements.
enum LedgerStatements {
    /// The open deliveries (`d`) of the notifications (`k`) that ``NotificationKey/named`` selects.
    ///
    /// Deliveries in a backlog are excluded and not locked, since only a pull may claim them. Otherwise a digest would
    /// be split in two.
    private static let owed = """
        FROM \(NotificationKey.named) AS k
        JOIN ledger d ON d.person = ANY (ARRAY[k.person]) AND d.id = k.id
        WHERE d.state IN (\(DeliveryState.owed)) AND d.outlet IS NULL
        """

    /// The time from the end of a claim's lease to the claim's due time.
    ///
    /// Readers of `updated_at` must find that the lease has ended.
    static let afterLease = "interval '2 s'"

    /// Claims the available deliveries, and returns the others with the time until they are available.
    ///
    /// If an answer was lost, a repeat with the same claim returns the deliveries that it already has.
    ///
    /// If the lease of another claim on a `sending` delivery has ended, this claim takes the delivery over. Before
    /// anything is sent, it records that the outcome is unknown. `due_at`, the end of the lease, keeps the delivery
    /// visible to the sweeper until it is settled. The statement does not wait for locks: `unclaimed` finds the rows
    /// that it skipped. The last column is the number of open deliveries. It equals the number of rows if none was
    /// skipped.
    ///
    /// Another claimer's first attempt has no due time. Since its message was redelivered, that claimer may be dead, so
    /// the statement makes the delivery visible to the sweeper.
    static let claim = Statement(
        """
        WITH owed AS (
            SELECT k.position, d.person, d.id, d.target, d.attempts, d.decision,
                   least(d.unknown_sends + (d.state = 's' AND d.claim IS DISTINCT FROM $4)::integer, 32000)
                       AS unknown_sends,
                   CASE WHEN d.claim = $4 THEN 'p' ELSE d.state END AS state,
                   CASE d.state
                       WHEN 'p' THEN true
                       WHEN 's' THEN d.claim = $4 OR d.updated_at + $5::bigint * interval '1 ms' <= now()
                       ELSE coalesce(d.due_at <= now() + interval '1 s', false)
                   END AS is_free,
                   CASE d.state
                       WHEN 's' THEN d.updated_at + $5::bigint * interval '1 ms'
                       ELSE coalesce(d.due_at, now())
                   END AS free_at, d.state = 's' AND d.due_at IS NULL AS is_unseen
            \(owed)
            ORDER BY k.person, k.id, d.target + 0
            FOR UPDATE OF d SKIP LOCKED
        ), taken AS (
            UPDATE ledger d
            SET state = 's', claim = $4, unknown_sends = o.unknown_sends, updated_at = now(),
                due_at = now() + $5::bigint * interval '1 ms' + \(afterLease)
            FROM owed o
            WHERE o.is_free AND d.person = ANY (ARRAY[o.person]) AND d.id = o.id AND d.target = o.target
        ), shown AS (
            UPDATE ledger d SET due_at = o.free_at + \(afterLease)
            FROM owed o
            WHERE NOT o.is_free AND o.is_unseen
              AND d.person = ANY (ARRAY[o.person]) AND d.id = o.id AND d.target = o.target
        )
        SELECT position, person, target, attempts::bigint, state::text, is_free,
               ceil(extract(epoch FROM free_at - now()) * 1000)::bigint, unknown_sends::bigint,
               decision ->> '\(Wait.slotKey)', (SELECT count(*) \(owed))
        FROM owed
        """
    )

    /// The open deliveries of these notifications without this claim.
    ///
    /// A delivery in this result that `claim` did not return was locked by another statement. If that statement's
    /// worker has died, the lock ends without a change, and no other process may take care of the delivery.
    static let unclaimed = Statement(
        "SELECT k.position, d.target \(owed) AND d.claim IS DISTINCT FROM $4",
        effect: .reads
    )

    /// Makes deliveries visible to the sweeper if possibly no message returns them: retries with an unconfirmed resume,
    /// and other claimers' first attempts.
    ///
    /// Each keeps its due time; if it has none, it gets the end of the claim's lease.
    ///
    /// The statement does not wait for locks: a locked retry is about to be claimed by another batch, and ``unseen``
    /// finds the rest.
    static let leave = Statement(
        """
        WITH open AS (
            SELECT d.person, d.id, d.target
            FROM \(NotificationKey.named) AS k
            JOIN ledger d ON d.person = ANY (ARRAY[k.person]) AND d.id = k.id
            WHERE d.outlet IS NULL AND (d.state = 'r' OR d.state = 's' AND d.due_at IS NULL)
            ORDER BY k.person, k.id, d.target + 0
            FOR UPDATE OF d SKIP LOCKED
        )
        UPDATE ledger d
        SET state = CASE d.state WHEN 'r' THEN 'w' ELSE d.state END,
            due_at = coalesce(d.due_at, d.updated_at + $4::bigint * interval '1 ms' + \(afterLease))
        FROM open o
        WHERE d.person = ANY (ARRAY[o.person]) AND d.id = o.id AND d.target = o.target
        """
    )

    static let unseen = Statement(
        """
        SELECT k.position
        FROM \(NotificationKey.named) AS k
        JOIN ledger d ON d.person = ANY (ARRAY[k.person]) AND d.id = k.id
        WHERE d.state = 's' AND d.due_at IS NULL
        """,
        effect: .reads
    )

    /// Settles only deliveries with this claim.
    ///
    /// A delivery that was taken over after the lease belongs to another claim.
    ///
    /// A delivery that was claimed by the statement that recorded it has that time as its turn, unless another turn is
    /// given. A delivery in a backlog gets the urgency of its place there: a replay has a lower urgency than its type.
    ///
    /// An accepted delivery keeps its send time, and any other settlement removes it: `sent_at` separates the two for
    /// the indexes.
    static let settle = Statement(
        """
        UPDATE ledger d
        SET state = s.state::"char", reason = s.reason, attempts = least(d.attempts + s.burns::integer, 32000),
            unknown_sends = least(d.unknown_sends + s.is_unknown::integer, 32000),
            provider_message_id = coalesce(s.provider_message_id, d.provider_message_id),
            due_at = now() + s.due_in * interval '1 ms', decision = CASE
                WHEN s.decision IS NULL THEN d.decision ELSE coalesce(d.decision, '{}') || s.decision END,
            sent_at = CASE s.state WHEN 'a' THEN coalesce(s.sent_at, d.sent_at, now()) END,
            outlet = s.outlet, updated_at = now(), claim = NULL,
            queued_at = CASE WHEN s.outlet IS NOT NULL THEN coalesce(s.queued_at, d.updated_at) END,
            urgency = coalesce(s.urgency, d.urgency)
        FROM (
            SELECT unnest($1::bigint[]) AS person, unnest($2::bigint[]) AS id, unnest($3::bigint[]) AS target,
                   unnest($5::text[]) AS state, unnest($6::text[]) AS reason, unnest($7::text[]) AS provider_message_id,
                   unnest($8::boolean[]) AS burns, unnest($9::bigint[]) AS due_in, unnest($10::boolean[]) AS is_unknown,
                   unnest($11::jsonb[]) AS decision, unnest($12::timestamptz[]) AS sent_at,
                   unnest($13::text[]) AS outlet, unnest($14::timestamptz[]) AS queued_at,
                   unnest($15::bigint[]) AS urgency
        ) AS s
        WHERE d.person = ANY (ARRAY[s.person]) AND d.id = s.id AND d.target = s.target AND \(isOwn)
        """
    )

    /// Settles deliveries that the provider simply accepted, which are nearly all.
    static let deliver = Statement(
        """
        UPDATE ledger d
        SET state = 'd', reason = NULL, attempts = least(d.attempts + 1, 32000),
            provider_message_id = coalesce(s.provider_message_id, d.provider_message_id),
            due_at = NULL, sent_at = NULL, updated_at = now(), claim = NULL
        FROM (
            SELECT unnest($1::bigint[]) AS person, unnest($2::bigint[]) AS id, unnest($3::bigint[]) AS target,
                   unnest($5::text[]) AS provider_message_id
        ) AS s
        WHERE d.person = ANY (ARRAY[s.person]) AND d.id = s.id AND d.target = s.target AND \(isOwn)
        """
    )

    private static let isOwn = "d.claim = $4 AND d.state IN ('s', 'a')"
}
