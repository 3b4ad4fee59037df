package import BellhopRules
package import Postgres

/// The operators' actions on deliveries in retry tiers.
package struct RetryAdmin: Sendable {
    private let pool: PostgresPool
    private let store: RetryStore

    /// - Parameter pool: A pool with the rights of an admin.
    package init(pool: PostgresPool) {
        self.pool = pool
        store = RetryStore(pool: pool)
    }

    /// Returns the waiting retries by app and provider.
    package func waiting(atMost limit: Int = RetryStore.most) async throws(PostgresError) -> [WaitingRetries] {
        try await store.waiting(atMost: limit)
    }

    /// Returns the deliveries that wait as long as their provider has requested, by app and provider.
    package func limited(atMost limit: Int = RetryStore.most) async throws(PostgresError) -> [WaitingRetries] {
        try await store.limited(atMost: limit)
    }

    /// Returns the deliveries that wait because of any other response, by app and provider.
    package func others(atMost limit: Int = RetryStore.most) async throws(PostgresError) -> [WaitingRetries] {
        try await store.others(atMost: limit)
    }

    /// Returns the deliveries whose next attempt is due or was brought forward, by app and provider.
    package func due(atMost limit: Int = RetryStore.most) async throws(PostgresError) -> [WaitingRetries] {
        try await store.due(atMost: limit)
    }

    /// Brings all retries of an outlet forward at a bounded rate, and returns their number.
    ///
    /// The audit entry is written first, with the number that the operator saw, so that no action is without an entry. If
    /// another number was brought forward, a second entry states it. Each step reads a thousand open deliveries. A call
    /// ends after a hundred thousand of them for each priority, so that another one may be necessary.
    package func bringForward(
        _ app: AppID,
        _ provider: String,
        agreed: Int,
        by operator: ActingOperator,
        pausing pause: Duration
    ) async throws(PostgresError) -> Int {
        let entry = try await pool.run(
            Self.audit,
            [
                .text(`operator`.name), .text(app.text), .text(provider), .integer(Int64(agreed)),
                .text(`operator`.because),
            ]
        )
        var moved = 0
        for priority in Priority.allCases {
            var begin: Timestamp?
            for _ in 0..<Self.mostSteps {
                let step = try await store.bringForward(
                    app,
                    provider,
                    priority,
                    from: begin,
                    atMost: Self.atOnce,
                    after: pause * moved,
                    pausing: pause
                )
                moved += step.moved
                guard let next = step.next else { break }
                begin = next
            }
        }
        if moved != agreed {
            _ = try await pool.run(
                Self.auditResult,
                [
                    .text(`operator`.name), .integer(try entry.integer(0, 0)), .integer(Int64(moved)),
                    .text(`operator`.because),
                ]
            )
        }
        return moved
    }

    private static let (atOnce, mostSteps) = (1_000, 100)

    private static let audit = Statement(
        """
        INSERT INTO audit (operator, act, filter, items, because)
        VALUES ($1, \(AuditAct.retriesBringForward.sql), jsonb_build_object('app', $2::text, 'provider', $3::text), $4, $5)
        RETURNING number
        """
    )

    private static let auditResult = Statement(
        """
        INSERT INTO audit (operator, act, filter, items, because)
        VALUES ($1, \(AuditAct.retriesBroughtForward.sql), jsonb_build_object('act', $2::bigint), $3, $4)
        """
    )
}
