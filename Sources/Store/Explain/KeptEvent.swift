package import BellhopRules
package import Postgres

/// An event that names a user and is stored for a later time.
package struct KeptEvent: Sendable, Equatable {
    package let event: String
    /// `nil` if the stored content has none.
    package let type: String?
    /// When a scheduler publishes it.
    package let dueAt: Timestamp
}

extension NotificationHistoryStore {
    /// Returns the events for a user that are stored for later, the next one first.
    ///
    /// Events for topics and for everyone are not included: their audience is determined when they are due.
    package func kept(for user: UserKey, atMost limit: Int) async throws(PostgresError) -> [KeptEvent] {
        let parameters: [Parameter] = [.text(user.app.text), .text(user.user.text), .integer(Int64(limit))]
        return try await pool.run(Self.kept, parameters).map { (rows, row) throws(PostgresError) in
            KeptEvent(
                event: try rows.text(row, 0),
                type: try rows.optionalText(row, 1),
                dueAt: try rows.moment(row, 2)
            )
        }
    }

    private static let kept = Statement(
        """
        SELECT n.id, n.content ->> 'eventType', n.planned_at
        FROM events_kept_for($2) AS f (app, id)
        JOIN events n ON n.app = f.app AND n.id = f.id
        WHERE f.app = $1 AND n.expanded_at IS NULL AND n.cancelled_at IS NULL AND n.closed_reason IS NULL
          AND n.planned_at IS NOT NULL
        ORDER BY n.planned_at, n.id LIMIT $3
        """,
        effect: .reads
    )
}
