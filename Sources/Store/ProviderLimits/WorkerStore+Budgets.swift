package import Postgres

/// A request for tokens of a provider's budget.
package struct BudgetRequest: Sendable {
    package let name: String
    /// The bucket's maximum level.
    package let capacity: Int
    package let refillPerSecond: Double
    package let wanted: Int
    /// The tokens to leave in the bucket for other workers.
    package let reserve: Int

    package init(name: String, capacity: Int, refillPerSecond: Double, wanted: Int, reserve: Int) {
        self.name = name
        self.capacity = capacity
        self.refillPerSecond = refillPerSecond
        self.wanted = wanted
        self.reserve = reserve
    }
}

/// The table `provider_budgets`: token buckets that all workers share.
///
/// Drawn tokens are not returned: a worker that dies with them costs a moment's share and blocks no other worker.
extension WorkerStore {
    /// Draws the available tokens, at most as many as wanted, and returns their number.
    package func draw(_ draw: BudgetRequest) async throws(PostgresError) -> Int {
        let parameters: [Parameter] = [
            .text(draw.name), .integer(Int64(draw.capacity)), .double(draw.refillPerSecond),
            .integer(Int64(draw.wanted)), .integer(Int64(draw.reserve)),
        ]
        let rows = try await pool.run(Self.draw, parameters)
        if rows.count == 1 { return Int(try rows.integer(0, 0)) }
        // The first draw created the bucket, which the same statement cannot see.
        let again = try await pool.run(Self.draw, parameters)
        return again.count == 1 ? Int(try again.integer(0, 0)) : 0
    }

    private static let draw = Statement(
        """
        WITH made AS (
            INSERT INTO provider_budgets (name, tokens) VALUES ($1, $2::bigint) ON CONFLICT DO NOTHING
        ), held AS (
            SELECT least(
                $2::bigint, tokens + greatest(0, extract(epoch FROM clock_timestamp() - refilled_at)) * $3::float8
            ) AS level
            FROM provider_budgets WHERE name = $1 FOR UPDATE
        ), drawn AS (
            SELECT level, greatest(0, least($4::bigint, floor(level - $5::bigint))) AS granted FROM held
        )
        UPDATE provider_budgets b SET tokens = level - granted, refilled_at = clock_timestamp()
        FROM drawn WHERE b.name = $1
        RETURNING granted::bigint
        """
    )
}
