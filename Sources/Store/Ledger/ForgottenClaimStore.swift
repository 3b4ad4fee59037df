package import Postgres

/// Finds first attempts that no process will settle or take over, because their message was lost.
///
/// Such a delivery is `sending` without a `due_at`. No index separates it from deliveries in flight, since every insert
/// and every settlement would have to update such an index. The table is therefore scanned, a bounded number of pages
/// at a time.
package struct ForgottenClaimStore: Sendable {
    private let pool: PostgresPool
    private let age: Duration
    private let lease: Duration

    /// Creates a book for claims that are older than `age`: the lease plus the time after which a claim is stranded.
    ///
    /// A claim of a dead process is forgotten as soon as its `lease` has ended; without a lease, after `age`.
    package init(pool: PostgresPool, olderThan age: Duration, lease: Duration? = nil) {
        self.pool = pool
        self.age = age
        self.lease = lease ?? age
    }

    /// The result of one step of the scan.
    package struct Step: Sendable {
        /// The number of deliveries that were made due.
        ///
        /// The release takes them like all other stranded deliveries.
        package let found: Int
        /// The page at which the next step begins; `nil` after the last page.
        package let next: Int64?
    }

    /// Scans `pages` pages of the table, beginning at `page`, with `dead` as the numbers of the dead processes.
    package func look(
        from page: Int64,
        pages: Int64,
        claimedBy dead: [Int64] = []
    ) async throws(PostgresError) -> Step {
        let (size, found) = try await pool.withConnection { [age, lease] (connection) throws(PostgresError) in
            let size = try connection.run(Self.size).integer(0, 0)
            guard page < size else { return (size, 0) }
            let end = min(size, page + pages)
            let found = try connection.run(
                Self.look,
                [
                    .text("(\(page),0)"), .text("(\(end),0)"), .integer(age.milliseconds),
                    .integer(lease.milliseconds), .integerArray(dead),
                ]
            )
            return (size, found.affectedCount)
        }
        return Step(found: found, next: page + pages < size ? page + pages : nil)
    }

    /// The size in pages of the largest partition, or of the table if it has no partitions.
    ///
    /// A step scans the same pages of each.
    private static let size = Statement(
        """
        SELECT greatest(pg_relation_size('ledger'::regclass), (
                   SELECT max(pg_relation_size(relid)) FROM pg_partition_tree('ledger'::regclass)
               )) / current_setting('block_size')::bigint
        """,
        effect: .reads
    )

    /// Sets the due time of each delivery found so far back that the release considers it stranded immediately.
    ///
    /// A claim with a time in the future was made by a process with a wrong clock. Its lease begins now, as for any
    /// other claim. A dead process's claim becomes due now, because the release takes it at its next poll.
    ///
    /// A TID range scan reads no page outside its range.
    private static let look = Statement(
        """
        WITH found AS MATERIALIZED (
            SELECT f.person, f.id, f.target FROM ledger f
            WHERE f.ctid >= $1::text::tid AND f.ctid < $2::text::tid AND f.state = 's' AND f.due_at IS NULL
              AND (f.updated_at < now() - $3::bigint * interval '1 ms' OR f.updated_at > now() + interval '1 min'
                   OR \(isOfDead("f")))
            FOR UPDATE SKIP LOCKED
        )
        UPDATE ledger d
        SET due_at = CASE WHEN \(isOfDead("d")) THEN now()
                          WHEN d.updated_at <= now() THEN d.updated_at - interval '1 min' END,
            updated_at = least(d.updated_at, now())
        FROM found f WHERE d.person = ANY (ARRAY[f.person]) AND d.id = f.id AND d.target = f.target
        """
    )

    /// The condition that the lease of a dead process's claim has ended.
    private static func isOfDead(_ row: String) -> String {
        """
        (\(row).claim >> \(Claim.chanceBits) = ANY ($5::bigint[])
         AND \(row).updated_at < now() - $4::bigint * interval '1 ms' - \(Claim.afterLease))
        """
    }
}
