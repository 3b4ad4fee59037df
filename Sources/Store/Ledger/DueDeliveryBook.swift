package import BellhopRules
package import Postgres

/// What is owed to one user and has fallen due: handed over whole, so that a digest stays together.
package struct DueGroup: Sendable {
    package let recipient: RecipientKey
    /// Of those that it was taken for; less urgent ones of the user come along.
    package let priority: Priority
    package fileprivate(set) var notifications: [NotificationKey]
}

/// Deliveries whose time has come, and those that nobody has taken care of for too long.
package struct DueDeliveryBook: Sendable {
    private let pool: PostgresPool
    private let grace: Duration

    /// A retry or a claim counts as stranded once it is overdue for longer than `grace`.
    package init(pool: PostgresPool, strandedAfter grace: Duration) {
        self.pool = pool
        self.grace = grace
    }

    /// Takes the groups with the oldest deliveries of a priority, of so many deliveries at most.
    ///
    /// Each becomes `pending` and due in ten minutes, so that no other scheduler takes it meanwhile and a hand-over that
    /// is lost is repeated. Any number may take at once: a user is in the hands of one, and what another statement holds
    /// is left to it. A group that alone is larger than `limit` is torn, and its rest is the next one's.
    ///
    /// Each priority is asked for by itself: however much has piled up of one, it does not keep the others waiting. What
    /// has been due for longer than `span` is not looked for; stranded lines are found only where that includes the grace.
    package func take(
        _ priority: Priority,
        atMost limit: Int,
        within span: Duration = DueLook.whole
    ) async throws(PostgresError) -> DueItems<DueGroup> {
        let rows = try await pool.run(
            Self.take,
            [
                .integer(Int64(limit)), .integer(grace.milliseconds), .integer(priority.urgency),
                .integer(span.milliseconds),
            ]
        )
        var groups: [DueGroup] = []
        for row in rows.indices where try rows.optionalText(row, 0) != nil {
            guard let key = try rows.notificationKey(row) else { continue }
            if groups.last?.recipient == key.recipient {
                groups[groups.count - 1].notifications.append(key)
            } else {
                groups.append(DueGroup(recipient: key.recipient, priority: priority, notifications: [key]))
            }
        }
        return DueItems(groups, left: try rows.optionalInteger(0, 3).map { .milliseconds($0) })
    }

    /// What may be handed over: the state alone does not tell, since a retry comes back by itself.
    private static let isDue = """
        due_at IS NOT NULL AND sent_at IS NULL AND due_at <= now() AND (state IN ('deferred', 'pending')
            OR state IN ('retrying', 'sending') AND due_at <= now() - $2::bigint * interval '1 ms')
        """

    /// The users come one after the other, the one that waits longest first, and what is due of each stands together.
    ///
    /// What is left came due after the last that is taken; where none is, since others have them all in hand, with the
    /// first of them. The one row that says so is there even if nothing is taken.
    ///
    /// Nothing can be drawn in front of a sub-select that locks, so reading ends with the limit, and only the last user may
    /// be cut off by it.
    private static let take = Statement(
        """
        WITH oldest AS (
            SELECT app, user_id, due_at FROM deliveries
            WHERE urgency = $3 AND \(DueLook.reaches("due_at", "$4")) AND \(isDue)
            ORDER BY due_at LIMIT $1
        ), held AS MATERIALIZED (
            SELECT app, user_id, due_at
            FROM (SELECT app, user_id, min(due_at) AS due_at FROM oldest GROUP BY app, user_id
                  ORDER BY due_at, app, user_id) AS users
            WHERE pg_try_advisory_xact_lock(hashtextextended(app || ' ' || user_id, 0))
        ), due AS MATERIALIZED (
            SELECT d.app, d.user_id, d.notification_id, d.channel, d.target, h.due_at AS waiting_since,
                   row_number() OVER () AS place
            FROM held h CROSS JOIN LATERAL (
                SELECT app, user_id, notification_id, channel, target FROM deliveries
                WHERE app = h.app AND user_id = ANY (ARRAY[h.user_id]) AND \(isDue)
                ORDER BY app, user_id, notification_id, channel, target
                FOR UPDATE SKIP LOCKED
            ) AS d
            LIMIT $1 + 1
        ), cut AS MATERIALIZED (
            SELECT c.app, c.user_id FROM due c
            WHERE c.place > $1 AND EXISTS (SELECT FROM due o WHERE (o.app, o.user_id) <> (c.app, c.user_id))
        ), moved AS (
            UPDATE deliveries d
            SET state = CASE d.state WHEN 'sending' THEN 'sending' ELSE 'pending' END,
                due_at = now() + interval '10 min'
            FROM due
            WHERE d.app = due.app AND d.user_id = ANY (ARRAY[due.user_id]) AND d.notification_id = due.notification_id
              AND d.channel = due.channel AND d.target = due.target
              AND NOT EXISTS (SELECT FROM cut WHERE cut.app = due.app AND cut.user_id = due.user_id)
            RETURNING d.app, d.user_id, d.notification_id, due.waiting_since,
                      \(DueLook.age(of: "due.waiting_since")) AS age
        )
        SELECT m.app, m.user_id, m.notification_id, look.left
        FROM (
            SELECT CASE WHEN (SELECT count(*) FROM oldest) >= $1 OR EXISTS (SELECT FROM cut) THEN
                       coalesce((SELECT min(age) FROM moved), (SELECT max(\(DueLook.age(of: "due_at"))) FROM oldest))
                   END AS left
        ) AS look
        LEFT JOIN (SELECT DISTINCT app, user_id, notification_id, waiting_since FROM moved) AS m ON true
        ORDER BY m.waiting_since, m.app, m.user_id, m.notification_id
        """
    )
}

extension Priority {
    /// As the tables keep it, so that an index can put what is urgent first.
    package var urgency: Int64 {
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
