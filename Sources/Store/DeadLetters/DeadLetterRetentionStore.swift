package import Postgres
package import ServiceRuntime
package import Settings

/// Deletes closed items after their retention period, in small batches.
///
/// Open items are never deleted.
package struct DeadLetterRetentionStore: Sendable {
    private let pool: PostgresPool
    private let retention: DeadLetterRetention

    package init(pool: PostgresPool, retention: DeadLetterRetention) {
        self.pool = pool
        self.retention = retention
    }

    /// Deletes one batch, with an audit entry, and returns the number of items.
    ///
    /// The age is computed from the earlier of `latest` and the database clock, so that a wrong clock deletes nothing
    /// early.
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

    /// Deletes replays that ended before the same period, with their lists of items.
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
