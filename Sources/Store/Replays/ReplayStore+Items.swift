package import Postgres

/// The sending of a replay's items, and their outcomes.
///
/// Runners, workers, filers and operators change the same rows concurrently. A statement that needs both tables locks
/// `replay_items` first, by position, and `dead_letters` afterwards, so that statements wait for each other instead of
/// deadlocking.
///
/// A replay's list is minutes old, and the planner has no statistics of it. The rows of an item are therefore looked up
/// by LATERAL with a limit of one, so that only the key can be used.
extension ReplayStore {
    /// Returns failed deliveries to the ledger, each by compare-and-set, and returns the notifications to resume.
    ///
    /// They are open work again, and are released after ten minutes if their resume is lost. A delivery that is no
    /// longer `failed` is settled immediately, so that a sent delivery is not sent again.
    package func send(
        deliveries positions: [Int64],
        of id: Int64
    ) async throws(PostgresError) -> [NotificationKey] {
        guard !positions.isEmpty else { return [] }
        let rows = try await pool.run(
            Self.sendDeliveries,
            [.integer(id), .integerArray(positions), .text(runner)]
        )
        return Array(Set(try rows.compactMap { (rows, row) throws(PostgresError) in try rows.notificationKey(row) }))
    }

    /// Returns deliveries in flight that are not claimed, since their resume may have been lost with the previous
    /// runner.
    package func unclaimed(of id: Int64) async throws(PostgresError) -> [NotificationKey] {
        let rows = try await pool.run(Self.unclaimed, [.integer(id)])
        return Array(Set(try rows.compactMap { (rows, row) throws(PostgresError) in try rows.notificationKey(row) }))
    }

    /// Records that messages have been published.
    package func markSent(_ positions: [Int64], of id: Int64) async throws(PostgresError) {
        guard !positions.isEmpty else { return }
        _ = try await pool.run(Self.markSent, [.integer(id), .integerArray(positions)])
    }

    /// Settles items that cannot be sent: they are open again, with the reason in the replay's list.
    package func settle(
        unsendable positions: [Int64],
        of id: Int64,
        as outcome: ReplayOutcome = .failed,
        why: String
    ) async throws(PostgresError) {
        guard !positions.isEmpty else { return }
        _ = try await pool.run(
            Self.unsendable,
            [.integer(id), .integerArray(positions), .text(outcome.rawValue), .text(why)]
        )
    }

    /// Reads the outcomes of deliveries in flight from the ledger, and settles their items.
    package func collect(of id: Int64, atMost limit: Int) async throws(PostgresError) -> [ReplayOutcome: Int] {
        let rows = try await pool.run(Self.collect, [.integer(id), .integer(Int64(limit))])
        var outcomes: [ReplayOutcome: Int] = [:]
        for row in rows.indices {
            guard let outcome = ReplayOutcome(rawValue: try rows.text(row, 0)) else { continue }
            outcomes[outcome, default: 0] += try rows.number(row, 1)
        }
        return outcomes
    }

    /// Pauses a replay if the share of failures among its latest outcomes is too large, and returns the reason if it
    /// did.
    ///
    /// With fewer than `least` outcomes it does nothing.
    package func pauseIfFailing(_ id: Int64, least: Int) async throws(PostgresError) -> String? {
        let rows = try await pool.run(Self.pauseIfFailing, [.integer(id), .integer(Int64(least))])
        return rows.isEmpty ? nil : try rows.text(0, 0)
    }

    /// Ends a replay without waiting items and items in flight, and returns whether it ended.
    package func finish(_ id: Int64) async throws(PostgresError) -> Bool {
        try await pool.run(Self.finish, [.integer(id)]).affectedCount > 0
    }

    /// `$3` must still be the runner, and the replay must still run: a runner that was stopped for longer than its
    /// lease sends nothing.
    ///
    /// The number of attempts is never lower than in the dead letter, so that the next death is recognised as a later
    /// one.
    private static let sendDeliveries = Statement(
        """
        WITH item AS MATERIALIZED (
            SELECT i.position, i.dead_id FROM replay_items i
            WHERE i.replay_id = $1 AND i.position = ANY($2::bigint[]) AND i.state || '' = 'waiting'
              AND EXISTS (SELECT FROM replays r WHERE r.id = $1 AND r.state = 'running' AND r.runner = $3)
            ORDER BY i.position
            FOR UPDATE OF i
        ), line AS MATERIALIZED (
            SELECT item.position, d.*, l.person, l.id, l.goes, l.state AS stood
            FROM item
            CROSS JOIN LATERAL (
                SELECT dead_id, app, user_id, notification_id, channel, target, attempts
                FROM dead_letters WHERE dead_id = item.dead_id LIMIT 1
            ) AS d
            \(standing)
        ), owed AS (
            UPDATE ledger l
            SET state = 'p', reason = NULL, claim = NULL, due_at = now() + interval '10 min', updated_at = now(),
                attempts = greatest(l.attempts, least(line.attempts, 32000))
            FROM line
            WHERE l.person = ANY (ARRAY[line.person]) AND l.id = line.id AND l.target = line.goes AND l.state = 'f'
            RETURNING line.app, line.user_id, l.id
        ), verdict AS (
            SELECT position, dead_id, CASE
                WHEN stood = 'failed' THEN NULL
                WHEN stood IS NULL THEN 'gone'
                WHEN stood IN ('delivered', 'accepted') THEN 'already-delivered'
                WHEN stood IN ('suppressed', 'expired', 'unknown') THEN stood
                ELSE 'still-owed' END AS outcome
            FROM line
        ), moved AS (
            UPDATE replay_items i
            SET state = CASE WHEN v.outcome IS NULL THEN 'sent' ELSE 'settled' END, outcome = v.outcome,
                settled_at = CASE WHEN v.outcome IS NOT NULL THEN now() END
            FROM verdict v WHERE i.replay_id + 0 = $1 AND i.dead_id = ANY (ARRAY[v.dead_id])
        ), counted AS (
            UPDATE dead_letters d
            SET replays = d.replays + (v.outcome IS NULL)::integer,
                state = CASE WHEN v.outcome IS NULL THEN d.state WHEN \(ReplayOutcome.reopens("v.outcome")) THEN 'open'
                    ELSE 'resolved' END,
                replay_id = CASE WHEN v.outcome IS NULL THEN d.replay_id END,
                resolution = v.outcome, changed_at = now()
            FROM verdict v
            WHERE d.dead_id = ANY (ARRAY[v.dead_id]) AND d.state || '' = 'replaying' AND coalesce(d.replay_id, 0) = $1
        )
        SELECT app, user_id, id FROM owed
        """
    )

    private static let unclaimed = Statement(
        """
        SELECT d.app, d.user_id, l.id
        FROM replay_items i
        CROSS JOIN LATERAL (
            SELECT app, user_id, notification_id, channel, target FROM dead_letters
            WHERE dead_id = i.dead_id AND coalesce(notification_id, '') <> '' LIMIT 1
        ) AS d
        \(standing)
        WHERE i.replay_id = $1 AND i.state = 'sent' AND l.state = 'pending'
        """,
        effect: .reads
    )

    /// An item that the worker settled first stays settled.
    private static let markSent = Statement(
        """
        WITH waiting AS MATERIALIZED (
            SELECT replay_id, position FROM replay_items
            WHERE replay_id = $1 AND position = ANY($2::bigint[]) AND state || '' = 'waiting'
            ORDER BY position
            FOR UPDATE
        )
        UPDATE replay_items i SET state = 'sent'
        FROM waiting w WHERE i.replay_id = ANY (ARRAY[w.replay_id]) AND i.position = w.position
        """
    )

    private static let unsendable = Statement(
        """
        WITH item AS MATERIALIZED (
            SELECT replay_id, position, dead_id FROM replay_items
            WHERE replay_id = $1 AND position = ANY($2::bigint[]) AND state || '' = 'waiting'
            ORDER BY position
            FOR UPDATE
        ), noted AS (
            UPDATE replay_items i SET state = 'settled', outcome = $3, detail = $4, settled_at = now()
            FROM item WHERE i.replay_id = ANY (ARRAY[item.replay_id]) AND i.position = item.position
        )
        UPDATE dead_letters d SET state = 'open', replay_id = NULL, changed_at = now()
        FROM item WHERE d.dead_id = ANY (ARRAY[item.dead_id]) AND coalesce(d.replay_id, 0) = $1
        """
    )

    /// A delivery that waits in a backlog only because its provider lacked capacity or required a pause has not been
    /// attempted yet.
    private static let collect = Statement(
        """
        WITH sent AS MATERIALIZED (
            SELECT position, dead_id FROM replay_items
            WHERE replay_id = $1 AND state = 'sent' ORDER BY position LIMIT $2
        ), looked AS MATERIALIZED (
            SELECT s.position, s.dead_id, l.reason, CASE
                WHEN l.state IS NULL THEN 'gone'
                WHEN l.state IN ('delivered', 'accepted') THEN 'delivered'
                WHEN l.state = 'deferred' AND l.reason = \(WaitReason.breaker.sql) THEN 'refused'
                WHEN l.state = 'deferred' AND l.reason NOT IN (\(WaitReason.apartFromProvider)) THEN 'retrying'
                WHEN l.state = 'failed' AND l.reason NOT IN (\(AbandonReason.list)) THEN 'device-gone'
                ELSE l.state END AS outcome
            FROM sent s
            CROSS JOIN LATERAL (
                SELECT app, user_id, notification_id, channel, target FROM dead_letters
                WHERE dead_id = s.dead_id AND coalesce(notification_id, '') <> '' LIMIT 1
            ) AS d
            \(standing)
            WHERE coalesce(
                l.state NOT IN ('pending', 'sending') AND (l.state <> 'deferred'
                    OR l.reason NOT IN (\(WaitReason.beforeAttempt))), true)
        ), settled AS MATERIALIZED (
            SELECT k.* FROM looked k
            CROSS JOIN LATERAL (
                SELECT position FROM replay_items i
                WHERE i.replay_id = $1 AND i.position = k.position AND i.state = 'sent'
                LIMIT 1 FOR UPDATE SKIP LOCKED
            ) AS held
        ), noted AS (
            UPDATE replay_items i
            SET state = 'settled', outcome = s.outcome, detail = s.reason, settled_at = now()
            FROM settled s WHERE i.replay_id + 0 = $1 AND i.dead_id = ANY (ARRAY[s.dead_id])
        ), moved AS (
            UPDATE dead_letters d
            SET state = CASE WHEN \(ReplayOutcome.reopens("s.outcome")) THEN 'open' ELSE 'resolved' END, replay_id = NULL,
                resolution = CASE WHEN \(ReplayOutcome.reopens("s.outcome")) THEN NULL ELSE concat_ws(', ', s.outcome, s.reason) END,
                changed_at = now()
            FROM settled s
            WHERE d.dead_id = ANY (ARRAY[s.dead_id]) AND d.state || '' = 'replaying' AND coalesce(d.replay_id, 0) = $1
        )
        SELECT outcome, count(*) FROM settled GROUP BY outcome
        """
    )

    /// Evaluates the latest hundred outcomes since the start or the last resume.
    private static let pauseIfFailing = Statement(
        """
        WITH latest AS (
            SELECT i.outcome FROM replay_items i JOIN replays r ON r.id = i.replay_id
            WHERE i.replay_id = $1 AND i.state = 'settled' AND i.settled_at >= r.resumed_at
            ORDER BY i.settled_at DESC LIMIT 100
        ), tally AS (
            SELECT count(*) AS outcomes, count(*) FILTER (WHERE outcome IN (\(failures))) AS failures FROM latest
        ), paused AS (
            UPDATE replays r SET state = 'paused',
                pause_reason = format('%s of the last %s failed', t.failures, t.outcomes)
            FROM tally t
            WHERE r.id = $1 AND r.state = 'running' AND t.outcomes >= $2::bigint
              AND t.failures * 100 >= r.pause_share * t.outcomes
            RETURNING r.id, r.filter, r.pause_reason
        ), audited AS (
            INSERT INTO audit (operator, act, filter, items, because, replay_id)
            SELECT 'bellhop', \(AuditAct.pause.sql), filter,
                   (SELECT count(*) FROM replay_items i WHERE i.replay_id = paused.id AND i.state = 'waiting'),
                   pause_reason, id
            FROM paused
        )
        SELECT pause_reason FROM paused
        """
    )

    private static let finish = Statement(
        """
        UPDATE replays SET state = CASE state WHEN 'cancelled' THEN state ELSE 'done' END, finished_at = now(),
               runner = NULL, runner_until = NULL
        WHERE id = $1 AND finished_at IS NULL
          AND NOT EXISTS (SELECT FROM replay_items WHERE replay_id = $1 AND state <> 'settled')
        """
    )

    /// Joins the state of the ledger row for `d`, as a word.
    private static let standing = """
        LEFT JOIN LATERAL (
            SELECT g.person, g.id, g.target AS goes, delivery_state(g.state) AS state, g.reason
            FROM \(UserKey.number(of: "d")) AS p
            CROSS JOIN LATERAL (
                SELECT * FROM ledger
                WHERE person = p.number AND id = notification_number(d.notification_id)
                  AND target = target_number(d.target)
                LIMIT 1
            ) AS g
        ) AS l ON true
        """

    private static let failures = ReplayOutcome.list(where: \.isFailure)
}
