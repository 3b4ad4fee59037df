package import Postgres

/// Items of a replay whose deliveries had to wait in the ledger for one reason, by the kind of their events.
package struct DeferredReplayItems: Sendable, Equatable {
    /// The reason in the ledger; `nil` if there is none.
    package let reason: String?
    package let app: String?
    package let type: String?
    /// The provider as named in metrics.
    package let provider: String?
    package let count: Int

    /// The limit of groups, those with the most items first.
    static let most = 200
}

extension ReplayAdmin {
    /// Returns a replay's items whose deliveries had to wait when their outcome was recorded.
    package func deferred(of id: Int64) async throws(PostgresError) -> [DeferredReplayItems] {
        try await pool.run(Self.deferred, [.integer(id)]).map { (rows, row) throws(PostgresError) in
            DeferredReplayItems(
                reason: try rows.optionalText(row, 0),
                app: try rows.optionalText(row, 1),
                type: try rows.optionalText(row, 2),
                provider: try rows.optionalText(row, 3),
                count: try rows.number(row, 4)
            )
        }
    }

    private static let deferred = Statement(
        """
        SELECT i.detail, d.app, d.event_type, d.provider, count(*) AS items
        FROM replay_items i
        CROSS JOIN LATERAL (
            SELECT app, event_type, provider FROM dead_letters WHERE dead_id = i.dead_id OFFSET 0
        ) AS d
        WHERE i.replay_id = $1 AND i.state = 'settled' AND i.outcome = '\(ReplayOutcome.deferred.rawValue)'
        GROUP BY i.detail, d.app, d.event_type, d.provider
        ORDER BY items DESC, i.detail, d.app, d.event_type, d.provider LIMIT \(DeferredReplayItems.most)
        """,
        effect: .reads
    )
}
