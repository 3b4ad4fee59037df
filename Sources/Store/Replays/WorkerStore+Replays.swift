package import Postgres

/// A message from the replay queue that has been processed completely.
package struct ReplayReport: Sendable {
    package let mark: DeadLetterItem.ReplayMark
    package let outcome: ReplayOutcome

    package init(_ mark: DeadLetterItem.ReplayMark, _ outcome: ReplayOutcome) {
        self.mark = mark
        self.outcome = outcome
    }
}

extension WorkerStore {
    /// Resolves the items of processed messages; safe to repeat.
    package func report(_ reports: [ReplayReport]) async throws(PostgresError) {
        guard !reports.isEmpty else { return }
        _ = try await pool.run(
            Self.settleMessages,
            [
                .textArray(reports.map(\.mark.item)), .integerArray(reports.map(\.mark.replay)),
                .integerArray(reports.map { Int64($0.mark.round) }), .textArray(reports.map(\.outcome.rawValue)),
            ]
        )
    }

    /// Settles items by the workers' reports of messages from the replay queue.
    ///
    /// Items that failed again since, and items that an operator has discarded, are not changed. An item that a
    /// cancellation has settled gets the outcome of its message, which had been sent already.
    private static let settleMessages = Statement(
        """
        WITH word AS (
            SELECT DISTINCT ON (dead_id) * FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::text[])
                AS w (dead_id, replay, round, outcome)
            ORDER BY dead_id, round DESC
        ), listed AS MATERIALIZED (
            SELECT i.replay_id, i.position, w.outcome
            FROM word w JOIN replay_items i ON i.replay_id + 0 = w.replay AND i.dead_id = ANY (ARRAY[w.dead_id])
            WHERE i.state || '' <> 'settled' OR i.outcome || '' IN (\(ReplayOutcome.list(where: \.isOfCancellation)))
            ORDER BY i.replay_id + 0, i.position
            FOR UPDATE OF i
        ), noted AS (
            UPDATE replay_items i SET state = 'settled', outcome = l.outcome, settled_at = now()
            FROM listed l WHERE i.replay_id = ANY (ARRAY[l.replay_id]) AND i.position = l.position
        ), done AS MATERIALIZED (
            SELECT d.dead_id, w.round, w.outcome
            FROM word w JOIN dead_letters d ON d.dead_id = ANY (ARRAY[w.dead_id])
            WHERE (SELECT count(*) FROM listed) >= 0 AND d.deaths <= w.round
              AND d.state || '' IN ('open', 'replaying')
            ORDER BY w.dead_id
            FOR UPDATE OF d
        )
        UPDATE dead_letters d
        SET state = 'resolved', replay_id = NULL, resolution = o.outcome, changed_at = now(),
            replays = greatest(d.replays, o.round)
        FROM done o WHERE d.dead_id = ANY (ARRAY[o.dead_id])
        """
    )
}
