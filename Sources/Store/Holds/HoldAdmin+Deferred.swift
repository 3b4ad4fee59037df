import BellhopRules
package import Postgres

extension HoldAdmin {
    /// The maximum of open deliveries that a count reads for each priority.
    private static let mostRead = 1_000_000

    /// Counts the deferred and retrying deliveries of the selected event in the scope of the hold.
    ///
    /// They reach the hold when they are due. Without an event, none is selected.
    package func countDeferred(_ selection: HoldSelection) async throws(PostgresError) -> Int {
        guard let event = selection.event else { return 0 }
        var count = 0
        for priority in Priority.allCases {
            var piece = Self.deferred(selection, event, priority, from: nil)
            let most = piece.bind(.integer(Int64(Self.mostRead)))
            let sql = "SELECT count(*) FROM (\(piece.sql) LIMIT \(most)) AS found"
            count += try await pool.run(Statement(sql, effect: .reads), piece.parameters).number(0, 0)
        }
        return count
    }

    /// Discards the deferred and retrying deliveries of the selected event, while the hold is in effect.
    func discardDeferred(_ selection: HoldSelection, atMost limit: Int) async throws(PostgresError) -> Int {
        guard let event = selection.event else { return 0 }
        var done = 0
        for priority in Priority.allCases {
            var since: Int64?
            while done < limit {
                var piece = Self.deferred(selection, event, priority, from: since)
                let count = piece.bind(.integer(Int64(min(Self.atOnce, limit - done))))
                piece.sql += " ORDER BY d.due_at LIMIT \(count) FOR UPDATE OF d SKIP LOCKED"
                let rows = try await end(piece, whileHeldBy: selection.hold)
                let found = try rows.number(0, 0)
                guard found > 0 else { break }
                done += found
                since = try rows.timestamp(0, 1)?.microseconds
            }
        }
        return done
    }

    /// Returns the query for the deliveries, in the order of the index `ledger_due`.
    ///
    /// Users, notifications and devices are looked up for each delivery; `OFFSET 0` fixes this join order, whatever the
    /// planner's statistics are.
    private static func deferred(
        _ selection: HoldSelection,
        _ event: EventID,
        _ priority: Priority,
        from begin: Int64?
    ) -> SQLPiece {
        let scope = selection.scope
        var piece = SQLPiece(sql: "", parameters: [.integer(priority.urgency)])
        let since = piece.bind(begin.map(Parameter.instant) ?? .null)
        let named = piece.bind(.text(event.text))
        let type = piece.bind(orNull(scope.type?.text))
        let app = piece.bind(.text(scope.app.text))
        let provider = piece.bind(orNull(scope.provider))
        piece.sql = """
            SELECT d.person, d.id, d.target, d.due_at AS place
            FROM ledger d
            CROSS JOIN LATERAL (SELECT type, event_id FROM inbox WHERE person = d.person AND id = d.id OFFSET 0) AS i
            CROSS JOIN LATERAL (SELECT app, user_id FROM people WHERE number = d.person OFFSET 0) AS p
            LEFT JOIN LATERAL (
                SELECT provider FROM push_subscriptions
                WHERE \(provider)::text IS NOT NULL AND profile_id = p.user_id AND app || '' = p.app
                  AND id = target_name(d.target) COLLATE "C"
                OFFSET 0
            ) AS s ON true
            WHERE d.urgency = $1::bigint AND d.due_at IS NOT NULL AND d.sent_at IS NULL
              AND d.due_at >= coalesce(\(since)::timestamptz, '-infinity') AND d.state IN ('w', 'r')
              AND i.event_id = \(named) AND i.type = coalesce(\(type)::text, i.type) AND p.app = \(app)
              AND (\(provider)::text IS NULL
                   OR \(provider)::text = CASE d.target WHEN \(TargetNumber.mailbox) THEN 'email' ELSE s.provider END)
            """
        return piece
    }
}
