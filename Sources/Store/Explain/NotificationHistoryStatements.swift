import BellhopRules
import Postgres

/// The SQL of stories; `$1` is the app, `$2` the user, `$3` the number of a notification.
enum NotificationHistoryStatements {
    /// The number of the user.
    private static let person = "(SELECT number FROM people WHERE app = $1 AND user_id = $2)"

    /// Returns when the notification was read, and its successor.
    static let fate = Statement(
        """
        SELECT n.read_at, notification_name(l.id), l.created_at
        FROM inbox n
        LEFT JOIN LATERAL (
            SELECT s.id, s.created_at FROM inbox s
            WHERE n.collapse_key IS NOT NULL AND s.person = n.person AND s.collapse_key = n.collapse_key
              AND (s.created_at, s.id) > (n.created_at, n.id)
            ORDER BY s.created_at, s.id LIMIT 1
        ) AS l ON true
        WHERE n.person = \(person) AND n.id = $3
        """,
        effect: .reads
    )

    /// Includes deliveries that were never to be sent.
    ///
    /// For each delivery it returns the number of deliveries in its digest, including itself; deliveries that were
    /// removed from the digest are not counted.
    static let lines = Statement(
        """
        SELECT target_channel(d.target), target_name(d.target), delivery_state(d.state), d.reason, d.attempts::bigint,
               d.unknown_sends::bigint, d.provider_message_id, d.due_at, d.decision ->> 'until',
               d.decision ->> '\(slot)',
               (SELECT count(*) FROM ledger o
                WHERE o.person = d.person AND o.target = d.target
                  AND o.decision ->> '\(slot)' = d.decision ->> '\(slot)'
                  AND (o.id = d.id OR o.state NOT IN ('x', 'e'))),
               d.updated_at, d.outlet, d.queued_at
        FROM (
            SELECT person, id, target, state, reason, attempts, unknown_sends, provider_message_id, due_at, decision,
                   updated_at, outlet, queued_at
            FROM ledger WHERE person = \(person) AND id = $3
            UNION ALL
            SELECT person, id, \(TargetNumber.nobody), unsent, unsent_reason, 0, 0, NULL, NULL, NULL, created_at,
                   NULL, NULL
            FROM inbox WHERE person = \(person) AND id = $3 AND unsent IS NOT NULL
        ) AS d
        ORDER BY 1, 2
        """,
        effect: .reads
    )

    /// `$3` is a topic.
    static let follow = Statement(
        """
        SELECT \(StoredFollow.columns()), since, removed_at FROM follows
        WHERE app = $1 AND user_id = $2 AND topic = $3
        """,
        effect: .reads
    )

    static let devices = Statement(
        """
        SELECT id, platform, provider, permission, registered_at, last_seen_at, revoked_at, revoke_reason
        FROM push_subscriptions WHERE app = $1 AND profile_id = $2
        ORDER BY revoked_at DESC NULLS FIRST, id
        """,
        effect: .reads
    )

    /// Always returns one row.
    static let times = Statement(
        """
        SELECT (SELECT updated_at FROM recipients WHERE app = $1 AND user_id = $2),
               (SELECT updated_at FROM notification_preferences WHERE app = $1 AND profile_id = $2)
        """,
        effect: .reads
    )

    static let plan = Statement(
        """
        SELECT content ->> 'eventType', content ->> 'sentAtIso', content ->> 'deliverAt',
               jsonb_array_length(content -> 'to' -> 'users')::bigint, content -> 'to' -> 'users' ? $2,
               content -> 'to' ->> 'topic', created_at, handed_over_at, expanded_at, cancelled_at, closed_reason,
               f.state, f.started_at, f.finished_at
        FROM events e
        LEFT JOIN LATERAL (
            SELECT state, started_at, finished_at FROM fanouts WHERE app = e.app AND event_id = e.id OFFSET 0
        ) AS f ON true
        WHERE app = $1 AND id = $3
        """,
        effect: .reads
    )

    /// Excludes dead letters for other users of the same event.
    ///
    /// A corrected copy has the first failure of its original and follows it.
    static let letters = Statement(
        """
        SELECT \(DeadLetterSummary.columns)
        FROM dead_letters d WHERE app = $1 AND event_id = $3 AND (user_id IS NULL OR user_id = $2)
        ORDER BY first_failed_at, filed_at, dead_id LIMIT 20
        """,
        effect: .reads
    )

    /// `$2` is the hash that represents the user.
    static let erasure = Statement(
        "SELECT deleted_at, returned_at FROM tombstones WHERE app = $1 AND subject_hash = $2",
        effect: .reads
    )

    private static let slot = Wait.slotKey
}
