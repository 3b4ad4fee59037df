import Postgres

extension Stage {
    /// Lets a minute pass for everything that killed workers had claimed: their leases end, and no lease of a living one.
    ///
    /// Nobody claims meanwhile: a claim leaves out lines that are locked, and a digest would come in two parts.
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

    /// A claim begins with its claimant's number, and nobody holds a claimant's lock once its process is gone.
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
