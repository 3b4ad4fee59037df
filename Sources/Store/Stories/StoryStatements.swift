import BellhopRules
import Postgres

/// The SQL of stories; `$1` is the app, `$2` the user.
enum StoryStatements {
    /// When it was read, and what has taken its place.
    static let fate = Statement(
        """
        SELECT n.read_at, l.id, l.created_at
        FROM notifications n
        LEFT JOIN LATERAL (
            SELECT s.id, s.created_at FROM notifications s
            WHERE n.extras ? 'collapseKey' AND s.app = n.app AND s.user_id = n.user_id
              AND (s.created_at, s.id) > (n.created_at, n.id)
              AND s.extras ->> 'collapseKey' = n.extras ->> 'collapseKey'
            ORDER BY s.created_at, s.id LIMIT 1
        ) AS l ON true
        WHERE n.app = $1 AND n.user_id = $2 AND n.id = $3
        """,
        effect: .reads
    )

    /// With each line the number of lines of its digest, itself among them; what was left out of it does not count.
    static let lines = Statement(
        """
        SELECT d.channel, d.target, d.state, d.reason, d.attempts::bigint, d.unknown_sends::bigint,
               d.provider_message_id, d.due_at, d.decision ->> 'until', d.decision ->> '\(slot)',
               (SELECT count(*) FROM deliveries o
                WHERE o.app = d.app AND o.user_id = d.user_id AND o.channel = d.channel AND o.target = d.target
                  AND o.decision ->> '\(slot)' = d.decision ->> '\(slot)'
                  AND (o.notification_id = d.notification_id OR o.state NOT IN ('suppressed', 'expired'))),
               d.updated_at, d.outlet, d.queued_at
        FROM deliveries d
        WHERE d.app = $1 AND d.user_id = $2 AND d.notification_id = $3
        ORDER BY d.channel, d.target
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

    /// One row in any case.
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
               content -> 'to' ->> 'topic', created_at, handed_over_at, expanded_at, cancelled_at
        FROM events WHERE app = $1 AND id = $3
        """,
        effect: .reads
    )

    /// Those about another user of the same event are not this user's.
    static let letters = Statement(
        """
        SELECT \(DeadLetterSummary.columns)
        FROM dead_letters d WHERE app = $1 AND event_id = $3 AND (user_id IS NULL OR user_id = $2)
        ORDER BY first_failed_at, dead_id LIMIT 20
        """,
        effect: .reads
    )

    /// `$2` is the hash that stands for the user.
    static let erasure = Statement(
        "SELECT deleted_at, returned_at FROM tombstones WHERE app = $1 AND subject_hash = $2",
        effect: .reads
    )

    private static let slot = Wait.slotKey
}
