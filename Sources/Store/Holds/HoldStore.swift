package import Postgres

/// The table `holds`, from which workers read the operators' holds.
package struct HoldStore: Sendable {
    private let pool: PostgresPool

    package init(pool: PostgresPool) {
        self.pool = pool
    }

    /// The reason in the ledger of deliveries that a hold keeps in a backlog.
    package static let reason = "held"

    /// The maximum number of holds in effect.
    package static let most = 200

    /// Returns all holds in effect, the oldest first.
    ///
    /// Holds that were placed concurrently may exceed ``most`` by a few.
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
