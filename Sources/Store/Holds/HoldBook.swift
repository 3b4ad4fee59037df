package import Postgres

/// The table `holds`, by which workers learn what operators keep from being sent.
package struct HoldBook: Sendable {
    private let pool: PostgresPool

    package init(pool: PostgresPool) {
        self.pool = pool
    }

    /// What stands in the ledger of what a hold has put into its backlog.
    package static let reason = "held"

    /// As many as may be in force at a time.
    package static let most = 200

    /// All that are in force, the first one first.
    ///
    /// Those that were placed at the same moment may be some more than ``most``.
    package func all() async throws(PostgresError) -> [OperatorHold] {
        try await pool.run(Self.all, []).compactMap { (rows, row) throws(PostgresError) in try OperatorHold(rows, row) }
    }

    private static let all = Statement(
        """
        SELECT \(OperatorHold.columns) FROM holds ORDER BY number LIMIT \(most + 50)
        """,
        effect: .reads
    )
}
