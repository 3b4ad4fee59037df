package import BellhopRules
package import Postgres

/// What is owed to one user and has fallen due: handed over whole, so that a digest stays together.
package struct DueGroup: Sendable {
    package let recipient: RecipientKey
    /// Of the most urgent of its notifications.
    package let priority: Priority
    package fileprivate(set) var notifications: [NotificationKey]
}

/// Deliveries whose time has come, and those that nobody has taken care of for too long.
package struct DueDeliveries: Sendable {
    private let pool: PostgresPool
    private let grace: Duration

    /// A retry or a claim counts as stranded once it is overdue for longer than `grace`.
    package init(pool: PostgresPool, strandedAfter grace: Duration) {
        self.pool = pool
        self.grace = grace
    }

    /// Takes the groups of about so many deliveries, the urgent first, then the oldest.
    ///
    /// Each becomes `pending` and due in ten minutes, so that no other scheduler takes it meanwhile and a hand-over that
    /// is lost is repeated. Any number may take at once: a user is in the hands of one, and what another statement holds
    /// is left to it.
    package func take(about limit: Int) async throws(PostgresError) -> [DueGroup] {
        let rows = try await pool.run(Self.take, [.integer(Int64(limit)), .integer(grace.milliseconds)])
        var groups: [DueGroup] = []
        for row in rows.indices {
            guard let key = try rows.notificationKey(row) else { continue }
            if groups.last?.recipient == key.recipient {
                groups[groups.count - 1].notifications.append(key)
            } else {
                let priority = Priority(urgency: try rows.integer(row, 3))
                groups.append(DueGroup(recipient: key.recipient, priority: priority, notifications: [key]))
            }
        }
        return groups
    }

    /// What may be handed over: the state alone does not tell, since a retry comes back by itself.
    private static let isDue = """
        (state IN ('deferred', 'pending') AND due_at <= now()
         OR state IN ('retrying', 'sending') AND due_at <= now() - $2::bigint * interval '1 ms')
        """

    private static func oldest(_ urgency: Int) -> String {
        """
        (SELECT app, user_id, urgency, due_at FROM deliveries
         WHERE urgency = \(urgency) AND due_at IS NOT NULL AND sent_at IS NULL AND due_at <= now() AND \(isDue)
         ORDER BY due_at LIMIT $1)
        """
    }

    private static let take = Statement(
        """
        WITH oldest AS (
            \([0, 1, 2].map(oldest).joined(separator: "\nUNION ALL\n"))
            LIMIT $1
        ), users AS (
            SELECT app, user_id, min(urgency) AS urgency, min(due_at) AS due_at FROM oldest GROUP BY app, user_id
        ), held AS MATERIALIZED (
            SELECT app, user_id, urgency, due_at FROM users
            WHERE pg_try_advisory_xact_lock(hashtextextended(app || ' ' || user_id, 0))
        ), due AS (
            SELECT d.app, d.user_id, d.notification_id, d.channel, d.target, h.urgency, h.due_at AS waiting_since
            FROM held h JOIN deliveries d ON d.app = h.app AND d.user_id = ANY (ARRAY[h.user_id])
            WHERE d.due_at IS NOT NULL AND (d.state IN ('deferred', 'pending') AND d.due_at <= now()
                OR d.state IN ('retrying', 'sending') AND d.due_at <= now() - $2::bigint * interval '1 ms')
            ORDER BY d.app, d.user_id, d.notification_id, d.channel, d.target
            FOR UPDATE OF d SKIP LOCKED
        ), moved AS (
            UPDATE deliveries d
            SET state = CASE d.state WHEN 'sending' THEN 'sending' ELSE 'pending' END,
                due_at = now() + interval '10 min'
            FROM due
            WHERE d.app = due.app AND d.user_id = ANY (ARRAY[due.user_id])
              AND d.notification_id = due.notification_id AND d.channel = due.channel AND d.target = due.target
            RETURNING d.app, d.user_id, d.notification_id, due.urgency, due.waiting_since
        )
        SELECT DISTINCT app, user_id, notification_id, urgency::bigint AS urgency, waiting_since
        FROM moved
        ORDER BY urgency, waiting_since, app, user_id, notification_id
        """
    )
}

extension Priority {
    /// As the tables keep it, so that an index can put what is urgent first.
    var urgency: Int64 {
        switch self {
        case .high: 0
        case .normal: 1
        case .low: 2
        }
    }

    init(urgency: Int64) {
        self = urgency <= 0 ? .high : urgency == 1 ? .normal : .low
    }
}
