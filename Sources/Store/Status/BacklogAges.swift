package import BellhopRules
package import Postgres

/// The values of the metrics for open work in the ledger: the age of its oldest deliveries.
///
/// Each value is the first entry of an index, so that the cost does not depend on the amount of work.
package struct BacklogAges: Sendable {
    /// The deliveries that wait for one outlet, or for one platform or type of it.
    package struct Backlog: Sendable, Equatable {
        package let name: String
        /// The seconds since the first of them was recorded.
        package let age: Double
    }

    /// For each priority, the seconds since its first due and unreleased delivery became due.
    ///
    /// A priority without due deliveries has no entry.
    package let overdue: [Priority: Double]
    package let backlogs: [Backlog]

    package init(of pool: PostgresPool) async throws(PostgresError) {
        let first = try await pool.run(Self.firstDue, [])
        var overdue: [Priority: Double] = [:]
        for row in 0..<first.count {
            guard let age = try first.optionalDouble(row, 1), age > 0 else { continue }
            overdue[Priority(urgency: try first.integer(row, 0))] = age
        }
        self.overdue = overdue
        backlogs = try await pool.run(Self.firstInLine, []).map { (rows, row) throws(PostgresError) in
            Backlog(name: try rows.text(row, 0), age: max(0, try rows.optionalDouble(row, 1) ?? 0))
        }
    }

    private static let firstDue = Statement(
        """
        SELECT u.urgency::bigint, extract(epoch FROM now() - f.due_at)::double precision
        FROM unnest(ARRAY[0, 1, 2]) AS u (urgency)
        CROSS JOIN LATERAL (
            SELECT d.due_at FROM ledger d WHERE d.urgency = u.urgency AND d.due_at IS NOT NULL AND d.sent_at IS NULL
            ORDER BY d.due_at LIMIT 1
        ) AS f
        """,
        effect: .reads
    )

    private static let firstInLine = Statement(
        """
        WITH \(WaitingBacklog.loose)
        SELECT n.outlet, extract(epoch FROM now() - o.oldest)::double precision
        FROM names n \(WaitingBacklog.oldest)
        WHERE n.outlet IS NOT NULL AND o.oldest IS NOT NULL
        """,
        effect: .reads
    )
}
