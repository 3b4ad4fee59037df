import Postgres

extension Stage {
    /// Ends the leases of killed workers and of no running worker: moves their rows 70 seconds into the past.
    ///
    /// The table is locked meanwhile, because a claim skips locked rows and would split a digest.
    func endLeasesOfTheDead() async throws {
        guard try await count("ledger WHERE \(Self.isOfTheDead)") > 0 else { return }
        try await owner.transaction { (connection) throws(PostgresError) in
            _ = try connection.run("LOCK TABLE ledger IN SHARE ROW EXCLUSIVE MODE")
            _ = try connection.run(
                Statement(
                    """
                    UPDATE ledger SET updated_at = updated_at - interval '70 s', due_at = due_at - interval '70 s'
                    WHERE \(Self.isOfTheDead)
                    """
                )
            )
        }
    }

    /// Rows that a killed worker has claimed.
    ///
    /// A claim begins with its claimant's number. A claimant's lock is free after its process has ended.
    private static let isOfTheDead = """
        state = 's' AND updated_at > now() - interval '65 s' AND claim >> 40 IN (
            SELECT c.number FROM claimants c WHERE NOT EXISTS (
                SELECT FROM pg_locks l
                WHERE l.locktype = 'advisory' AND l.objid::bigint = c.number
                  AND l.classid::bigint = hashtext(current_schema() || ' claimant')::bigint & 4294967295
            )
        )
        """
}
