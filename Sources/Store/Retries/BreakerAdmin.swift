package import BellhopRules
package import Postgres

/// The operators' action on open breakers.
package struct BreakerAdmin: Sendable {
    private let pool: PostgresPool

    /// - Parameter pool: A pool with the rights of an admin.
    package init(pool: PostgresPool) {
        self.pool = pool
    }

    /// Brings the next probe of an app's open breakers at a provider forward to now, with an audit entry, and returns
    /// the number of breakers.
    ///
    /// Workers read the breakers every few seconds. The interval after a rejected probe is unchanged.
    package func bringProbesForward(
        _ app: AppID,
        _ provider: String,
        by operator: ActingOperator
    ) async throws(PostgresError) -> Int {
        let parameters = [app.text, provider, `operator`.name, `operator`.because].map(Parameter.text)
        return try await pool.run(Self.forward, parameters).number(0, 0)
    }

    /// An app has at most one breaker at a provider for each platform and one for all of them.
    private static let forward = Statement(
        """
        WITH opened AS (
            UPDATE breakers SET probe_at = least(probe_at, now()) WHERE app = $1 AND provider = $2 RETURNING app
        ), audited AS (
            INSERT INTO audit (operator, act, filter, items, because)
            SELECT $3, \(AuditAct.providerProbe.sql), jsonb_build_object('app', $1::text, 'provider', $2::text), count(*), $4
            FROM opened HAVING count(*) > 0
        )
        SELECT count(*) FROM opened
        """
    )
}
