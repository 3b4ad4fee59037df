package import Postgres

/// The values of the fan-out metrics.
///
/// It reads a bounded number of fan-outs.
package struct FanoutStatistics: Sendable {
    /// The fan-outs of one app in one state.
    package struct Group: Sendable, Equatable {
        package let app: String
        package let state: FanoutState
        package let count: Int
        /// The longest time without progress, in seconds; zero if the state requires none.
        package let standstill: Double
    }

    package let groups: [Group]

    /// Reads the oldest open fan-outs, at most `most` of them.
    package init(of pool: PostgresPool, most: Int = 10_000) async throws(PostgresError) {
        let rows = try await pool.run(Self.open, [.integer(Int64(most))])
        groups = try rows.compactMap { (rows, row) throws(PostgresError) in
            guard let state = FanoutState(rawValue: try rows.text(row, 1)) else { return nil }
            return Group(
                app: try rows.text(row, 0),
                state: state,
                count: try rows.number(row, 2),
                standstill: max(0, try rows.optionalDouble(row, 3) ?? 0)
            )
        }
    }

    private static let open = Statement(
        """
        SELECT app, state, count(*),
               max(extract(epoch FROM now() - greatest(worked_at, resumed_at)))
                   FILTER (WHERE state = 'running')::double precision
        FROM (
            SELECT app, state, worked_at, resumed_at FROM fanouts WHERE state IN ('running', 'paused')
            ORDER BY started_at LIMIT $1
        ) AS open
        GROUP BY app, state
        """,
        effect: .reads
    )
}
