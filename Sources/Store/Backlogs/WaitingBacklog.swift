package import Postgres

/// The deliveries that wait for capacity of one outlet.
package struct WaitingBacklog: Sendable, Equatable {
    /// The app, the provider, and the platform or type if only that waits, such as `drop/fcm`.
    package let name: String
    package let count: Int
    /// When the first was recorded, in microseconds since 1970.
    package let oldest: Int64

    /// The limit of each count.
    package static let most = 100_000
}

extension WaitingBacklog {
    /// Returns the deliveries that wait for capacity of their outlets, by backlog name, each counted up to ``most``.
    package static func all(on pool: PostgresPool) async throws(PostgresError) -> [WaitingBacklog] {
        try await pool.run(all, []).map { (rows, row) throws(PostgresError) in
            WaitingBacklog(
                name: try rows.text(row, 0),
                count: try rows.number(row, 1),
                oldest: try rows.instant(row, 2)
            )
        }
    }

    private static let all = Statement(
        """
        WITH \(loose)
        SELECT n.outlet, c.count, o.oldest
        FROM names n
        CROSS JOIN LATERAL (
            SELECT count(*) AS count FROM (SELECT FROM ledger d WHERE d.outlet = n.outlet LIMIT \(most)) AS counted
        ) AS c
        \(oldest)
        WHERE n.outlet IS NOT NULL AND o.oldest IS NOT NULL
        ORDER BY n.outlet
        """,
        effect: .reads
    )

    /// When the oldest delivery in each of `names` was recorded.
    ///
    /// Only the first of each priority is read, whatever the number of deliveries.
    static let oldest = """
        CROSS JOIN LATERAL (
            SELECT min(f.queued_at) AS oldest
            FROM unnest(ARRAY[0, 1, 2]) AS u (urgency)
            CROSS JOIN LATERAL (
                SELECT d.queued_at FROM ledger d WHERE d.outlet = n.outlet AND d.urgency = u.urgency
                ORDER BY d.queued_at LIMIT 1
            ) AS f
        ) AS o
        """

    /// Steps from one distinct name to the next (a loose index scan), whatever the number of deliveries per name.
    static let loose = """
        RECURSIVE names AS (
            (SELECT d.outlet FROM ledger d WHERE d.outlet IS NOT NULL ORDER BY d.outlet LIMIT 1)
            UNION ALL
            SELECT (SELECT d.outlet FROM ledger d WHERE d.outlet > n.outlet ORDER BY d.outlet LIMIT 1)
            FROM names n WHERE n.outlet IS NOT NULL
        )
        """
}
