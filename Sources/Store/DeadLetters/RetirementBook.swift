package import Postgres
package import ServiceRuntime

/// Deletes items that nobody waits for any more, in small batches; those that are open stay for ever.
package struct RetirementBook: Sendable {
    private let pool: PostgresPool
    private let retention: DeadLetterRetention

    package init(pool: PostgresPool, retention: DeadLetterRetention) {
        self.pool = pool
        self.retention = retention
    }

    /// Deletes one batch, with a line in the audit; how many it was.
    ///
    /// What is old enough is so at `latest`, too, whatever the database's clock shows.
    package func deleteBatch(notBeyond latest: Instant = SystemTime().now() + .seconds(60)) async throws(PostgresError)
        -> Int
    {
        let rows = try await pool.run(
            Self.delete,
            [
                .integer(retention.span.milliseconds), .boolean(retention.includesUnexported),
                .text("kept for \(retention.span.shortText)"), .instant(latest.microseconds),
            ]
        )
        return try rows.number(0, 0)
    }

    /// Forgets replays that ended as long ago, with their lists of items.
    package func forgetReplays(
        notBeyond latest: Instant = SystemTime().now() + .seconds(60)
    ) async throws(PostgresError) {
        _ = try await pool.run(
            "DELETE FROM replays WHERE finished_at < least(now(), $2::timestamptz) - $1::bigint * interval '1 ms'",
            [.integer(retention.span.milliseconds), .instant(latest.microseconds)]
        )
    }

    private static let delete = Statement(
        """
        WITH gone AS (
            DELETE FROM dead_letters d USING (
                SELECT dead_id FROM dead_letters
                WHERE state IN ('resolved', 'discarded') AND changed_at < least(now(), $4::timestamptz) - $1::bigint * interval '1 ms'
                  AND replay_id IS NULL AND (exported_at IS NOT NULL OR $2::boolean)
                ORDER BY changed_at LIMIT 1000 FOR UPDATE SKIP LOCKED
            ) AS old
            WHERE d.dead_id = ANY (ARRAY[old.dead_id])
            RETURNING d.dead_id
        ), audited AS (
            INSERT INTO audit (operator, act, filter, items, because)
            SELECT 'bellhop', 'delete', '{"states": ["discarded", "resolved"]}', count(*), $3::text FROM gone
            HAVING count(*) > 0
        )
        SELECT count(*) FROM gone
        """
    )
}
