package import Postgres

/// First attempts that nobody will ever settle or take over, since the message that they came of is gone.
///
/// Such a line is `sending` without `due_at`: no index tells it from those that are under way, and one that did would be
/// touched by every insert and every settlement. So the table is walked, a bounded number of pages at a time.
package struct ForgottenClaimBook: Sendable {
    private let pool: PostgresPool
    private let age: Duration

    /// `age` is what a claim's lease and the time until it counts as stranded come to.
    package init(pool: PostgresPool, olderThan age: Duration) {
        self.pool = pool
        self.age = age
    }

    /// What one step of the walk came to.
    package struct Step: Sendable {
        /// Lines that are due from now on: the hand-over takes them like everything else that was stranded.
        package let found: Int
        /// The page at which the next step begins; nil behind the last one.
        package let next: Int64?
    }

    /// Looks through so many pages of the table from this one on.
    package func look(from page: Int64, pages: Int64) async throws(PostgresError) -> Step {
        let (size, found) = try await pool.withConnection { [age] (connection) throws(PostgresError) in
            let size = try connection.run(Self.size).integer(0, 0)
            guard page < size else { return (size, 0) }
            let end = min(size, page + pages)
            let found = try connection.run(
                Self.look,
                [.text("(\(page),0)"), .text("(\(end),0)"), .integer(age.milliseconds)]
            )
            return (size, found.affectedCount)
        }
        return Step(found: found, next: page + pages < size ? page + pages : nil)
    }

    /// Of the largest partition, where there are any: a step looks at the same pages of each.
    private static let size = Statement(
        """
        SELECT greatest(pg_relation_size('ledger'::regclass), (
                   SELECT max(pg_relation_size(relid)) FROM pg_partition_tree('ledger'::regclass)
               )) / current_setting('block_size')::bigint
        """,
        effect: .reads
    )

    /// What it finds is due since so long ago that the hand-over takes it for stranded at once.
    ///
    /// A claim from an instant ahead was made by a clock that was wrong: from now on its lease runs as that of any other.
    ///
    /// A scan of a range of places reads no page outside of it.
    private static let look = Statement(
        """
        WITH found AS MATERIALIZED (
            SELECT f.person, f.id, f.target FROM ledger f
            WHERE f.ctid >= $1::text::tid AND f.ctid < $2::text::tid AND f.state = 's' AND f.due_at IS NULL
              AND (f.updated_at < now() - $3::bigint * interval '1 ms' OR f.updated_at > now() + interval '1 min')
            FOR UPDATE SKIP LOCKED
        )
        UPDATE ledger d
        SET due_at = CASE WHEN d.updated_at <= now() THEN d.updated_at - interval '1 min' END, updated_at = least(d.updated_at, now())
        FROM found f WHERE d.person = ANY (ARRAY[f.person]) AND d.id = f.id AND d.target = f.target
        """
    )
}
