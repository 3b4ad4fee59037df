import BellhopRules
import Postgres

/// The SQL of the ledger.
enum LedgerStatements {
    /// What is owed of the notifications that ``InboxStatements/named`` names, as `k` and `d`.
    ///
    /// What waits in a backlog is nobody's but for who pulls it from there, and is not even locked: a digest would come in
    /// two parts.
    private static let owed = """
        FROM \(InboxStatements.named) AS k
        JOIN ledger d ON d.person = ANY (ARRAY[k.person]) AND d.id = k.id
        WHERE d.state IN (\(DeliveryState.owed)) AND d.outlet IS NULL
        """

    /// How long after the end of its lease a claim is due: those who go by `updated_at` must find the lease over.
    static let afterLease = "interval '2 s'"

    /// What this very claim holds already, since an answer was lost on the way, it gets again.
    ///
    /// A claim on another's `sending` line takes it over after the lease and writes down that its outcome is unknown,
    /// before anything is sent; `due_at`, the end of the lease, then keeps it in the sweeper's sight until it is settled. It
    /// waits for no lock: `unclaimed` finds the lines that it had to leave out. The last column says how many lines are owed:
    /// as many as it returns where it has left out none.
    ///
    /// A first attempt of another has no due time, and its message has come back: its claimer may be dead. From then on the
    /// sweeper sees it, too.
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

    /// What is owed of these notifications and not under this claim.
    ///
    /// What `claim` has not told of then is a line on which another statement had a lock: that of a worker that has died
    /// meanwhile ends without a change, so nobody else may see to it.
    static let unclaimed = Statement(
        "SELECT k.position, d.target \(owed) AND d.claim IS DISTINCT FROM $4",
        effect: .reads
    )

    /// Lets the sweeper see what no message may bring back: retries whose resume is not confirmed, and first attempts of
    /// others, each with the due time that it has or had.
    ///
    /// It waits for no lock: a retry that another has locked is about to be another's, and ``unseen`` finds the others.
    static let leave = Statement(
        """
        WITH open AS (
            SELECT d.person, d.id, d.target
            FROM \(InboxStatements.named) AS k
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
        FROM \(InboxStatements.named) AS k
        JOIN ledger d ON d.person = ANY (ARRAY[k.person]) AND d.id = k.id
        WHERE d.state = 's' AND d.due_at IS NULL
        """,
        effect: .reads
    )

    /// Only its own claim: a line that was taken over after the lease belongs to another.
    ///
    /// What was recorded by the statement that claimed it has its turn by that time, unless another is given. What waits in a
    /// backlog has the urgency of its place there from then on: a replay's is less than what its type has.
    ///
    /// What stays accepted keeps the time of its send, and what is settled otherwise loses it: `sent_at` tells the two apart
    /// for the indexes.
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

    /// The same for what its provider has simply taken, which is nearly everything.
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
