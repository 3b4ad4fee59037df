import Postgres
package import Settings

/// The kinds of rows that are scanned in turn for expired retention periods.
package enum RetentionKind: String, CaseIterable, Sendable {
    /// Notifications, with their deliveries.
    case notifications
    /// Deliveries whose notification was deleted without them.
    case deliveries
    case events
    case tombstones
    /// Tokens of ended devices. The device itself is kept.
    case tokens
    /// Ended devices that no notification can name.
    case devices
    /// Ended follows, after the time in which an older update of them may arrive.
    case follows
    /// Ended reminders, after the same time.
    case reminders

    var table: String {
        switch self {
        case .notifications: "inbox"
        case .deliveries: "ledger"
        case .events: "events"
        case .tombstones: "tombstones"
        case .tokens, .devices: "push_subscriptions"
        case .follows: "follows"
        case .reminders: "reminders"
        }
    }

    /// Returns the retention period; `nil` for kinds that are kept indefinitely.
    ///
    /// An ended device appears in explanations as the destination of deliveries, so it is kept for longer than they
    /// are.
    package func age(in retention: Retention) -> Duration? {
        switch self {
        case .notifications, .deliveries: return retention[.notifications]
        case .events: return retention[.events]
        case .tombstones, .follows, .reminders: return retention[.tombstones]
        case .tokens: return retention[.tokens]
        case .devices:
            guard let notifications = retention[.notifications], let tombstones = retention[.tombstones],
                let tokens = retention[.tokens]
            else { return nil }
            return max(notifications, tombstones, tokens)
        }
    }
}

/// The SQL of ``RetentionStore``: `$1` and `$2` are the bounds of a ``PageRange``, `$3` is the age in milliseconds.
///
/// Rows found by `ctid` are deleted by `ctid` and key, since in a partitioned table several rows may have the same
/// `ctid`.
enum RetentionStatements {
    private static let before = "now() - $3::bigint * interval '1 ms'"

    /// Stores the time up to which rows of `$1` may be deleted at the age `$2`.
    ///
    /// One minute is added, so that not every step writes it.
    static let note = Statement(
        """
        INSERT INTO retired (kind, up_to)
        SELECT $1::text, now() - $2::bigint * interval '1 ms' + interval '1 min'
        WHERE NOT EXISTS (
            SELECT FROM retired r WHERE r.kind = $1 AND r.up_to >= now() - $2::bigint * interval '1 ms' OFFSET 0)
        ON CONFLICT (kind) DO UPDATE SET up_to = greatest(retired.up_to, excluded.up_to)
        """
    )

    static let raise = Statement(
        "UPDATE retired SET up_to = up_to + interval '1 day' WHERE kind = $1 AND up_to = $2::timestamptz"
    )

    /// Returns the transaction's time, the limit of `$1` at the age `$2`, and the limit that was stored last.
    static let limits = Statement(
        """
        SELECT now(), now() - $2::bigint * interval '1 ms', (SELECT up_to FROM retired r WHERE r.kind = $1::text OFFSET 0)
        """,
        effect: .reads
    )

    /// Returns the number of rows and the number of rows older than `$3`.
    static func count(_ kind: RetentionKind) -> Statement {
        Statement(
            """
            SELECT count(*), count(*) FILTER (WHERE \(end(kind)) < $3::timestamptz)
            FROM \(kind.table) t WHERE \(PageRange.condition("t"))
            """,
            effect: .reads
        )
    }

    /// The end of the object of a row `t`.
    ///
    /// It is not earlier than the time that the kind's statement compares.
    private static func end(_ kind: RetentionKind) -> String {
        switch kind {
        case .notifications: "greatest(t.created_at, t.snoozed_until)"
        case .deliveries: "CASE WHEN t.state IN (\(DeliveryState.settled)) THEN t.updated_at END"
        case .events:
            "CASE WHEN coalesce(t.expanded_at, t.cancelled_at) IS NOT NULL "
                + "THEN greatest(t.expanded_at, t.cancelled_at, t.planned_at) END"
        case .tombstones: "greatest(t.recorded_at, t.deleted_at)"
        case .tokens: "CASE WHEN t.device_token <> '' THEN greatest(t.revoked_at, t.ended_at) END"
        case .devices: "CASE WHEN t.device_token = '' THEN greatest(t.revoked_at, t.ended_at, t.source_time) END"
        case .follows, .reminders: "CASE WHEN t.removed_at IS NOT NULL THEN greatest(t.removed_at, t.source_time) END"
        }
    }

    /// Deletes notifications unless they are snoozed, or a delivery is open, waits for its receipt, or became a dead
    /// letter that may be replayed.
    ///
    /// The time is within an expression, since otherwise the server could read the whole index of the list. So is the
    /// key of the deleted rows, since otherwise the server could read all rows of a user.
    static let notifications = Statement(
        """
        WITH old AS MATERIALIZED (
            SELECT i.ctid AS place, i.person, i.id
            FROM inbox i
            WHERE \(PageRange.condition("i")) AND greatest(i.created_at, i.snoozed_until) < \(before)
              AND NOT EXISTS (
                  SELECT FROM ledger l
                  WHERE l.person = i.person AND l.id = i.id AND l.state NOT IN (\(DeliveryState.settled)) OFFSET 0)
              AND NOT EXISTS (
                  SELECT FROM people p
                  CROSS JOIN LATERAL (
                      SELECT FROM dead_letters d
                      WHERE d.user_id = p.user_id AND d.app || '' = p.app
                        AND d.notification_id = notification_name(i.id) AND d.state || '' IN ('open', 'replaying')
                      OFFSET 0
                  ) AS named
                  WHERE p.number = i.person OFFSET 0)
            FOR UPDATE OF i SKIP LOCKED
        ), gone AS (
            DELETE FROM inbox i USING old
            WHERE i.ctid = old.place AND i.person + 0 = old.person AND i.id + 0 = old.id
            RETURNING i.person, i.id
        ), lines AS (
            DELETE FROM ledger l USING gone
            WHERE l.person = ANY (ARRAY[gone.person]) AND l.id = gone.id AND l.state IN (\(DeliveryState.settled))
            RETURNING l.id
        )
        SELECT (SELECT count(*) FROM gone), (SELECT count(*) FROM lines)
        """
    )

    static let deliveries = Statement(
        """
        WITH old AS MATERIALIZED (
            SELECT l.ctid AS place, l.person, l.id, l.target
            FROM ledger l
            WHERE \(PageRange.condition("l")) AND l.updated_at < \(before) AND l.state IN (\(DeliveryState.settled))
              AND NOT EXISTS (SELECT FROM \(NotificationKey.row("id", of: "l")) AS n WHERE n.id = l.id OFFSET 0)
            FOR UPDATE OF l SKIP LOCKED
        )
        DELETE FROM ledger l USING old
        WHERE l.ctid = old.place AND l.person = ANY (ARRAY[old.person]) AND l.id = old.id AND l.target = old.target
        """
    )

    /// An event that was neither expanded nor cancelled must still be sent, however old it is.
    ///
    /// An event that was cancelled before it was due is kept for longer: its producer may plan it again.
    static let events = Statement(
        """
        WITH old AS MATERIALIZED (
            SELECT e.ctid AS place, e.app, e.id
            FROM events e
            WHERE \(PageRange.condition("e")) AND coalesce(e.expanded_at, e.cancelled_at) IS NOT NULL
              AND greatest(e.expanded_at, e.cancelled_at, e.planned_at) < \(before)
              AND NOT EXISTS (
                  SELECT FROM fanouts f
                  WHERE f.app = e.app AND f.event_id = e.id AND f.state IN ('running', 'paused')
                  OFFSET 0)
            FOR UPDATE SKIP LOCKED
        )
        DELETE FROM events e USING old
        WHERE e.ctid = old.place AND e.app = ANY (ARRAY[old.app]) AND e.id = old.id
        """
    )

    /// Compares both the server's time and the source's timestamp, since either may be ahead.
    static let tombstones = Statement(
        """
        WITH old AS MATERIALIZED (
            SELECT t.ctid AS place, t.app, t.subject_hash
            FROM tombstones t
            WHERE \(PageRange.condition("t")) AND greatest(t.recorded_at, t.deleted_at) < \(before)
            FOR UPDATE SKIP LOCKED
        )
        DELETE FROM tombstones t USING old
        WHERE t.ctid = old.place AND t.app = ANY (ARRAY[old.app]) AND t.subject_hash = old.subject_hash
        """
    )

    static let follows = ending(of: "follows", "topic")
    static let reminders = ending(of: "reminders", "id")

    /// Deletes rows that ended before the limit, both by the server's time and by the timestamp of the last update.
    ///
    /// The condition on the end is within an expression, since otherwise the server could read an index of the active
    /// rows.
    private static func ending(of table: String, _ name: String) -> Statement {
        Statement(
            """
            WITH old AS MATERIALIZED (
                SELECT t.ctid AS place, t.app, t.user_id, t.\(name)
                FROM \(table) t
                WHERE \(PageRange.condition("t"))
                  AND CASE WHEN t.removed_at IS NULL THEN 'infinity' ELSE greatest(t.removed_at, t.source_time) END
                      < \(before)
                FOR UPDATE SKIP LOCKED
            )
            DELETE FROM \(table) t USING old
            WHERE t.ctid = old.place AND t.user_id = ANY (ARRAY[old.user_id]) AND t.app = old.app
              AND t.\(name) = old.\(name)
            """
        )
    }

    /// Selects devices that ended before the limit, with or without tokens, and locks them and their users, which the
    /// triggers lock.
    ///
    /// Feeds lock the devices first and then the user. This statement waits for neither, so the two cannot deadlock.
    /// The condition on the end is within an expression, since otherwise the server would read the index of ended
    /// devices.
    private static func ended(_ which: String) -> String {
        let isOld = "coalesce(greatest(s.revoked_at, s.ended_at), 'infinity') < \(before) AND \(which)"
        return """
            old AS MATERIALIZED (
                SELECT s.app, s.profile_id, s.id FROM push_subscriptions s
                WHERE \(PageRange.condition("s")) AND \(isOld)
            ), held AS MATERIALIZED (
                SELECT s.app, s.profile_id, s.id
                FROM old d
                JOIN people p ON p.user_id = ANY (ARRAY[d.profile_id]) AND p.app = d.app
                JOIN push_subscriptions s ON \(DeadDevice.isSubscription)
                WHERE \(isOld)
                FOR NO KEY UPDATE OF p SKIP LOCKED FOR UPDATE OF s SKIP LOCKED
            )
            """
    }

    /// While a breaker doubts revocations by its provider, the devices may be restored when it closes.
    private static let isNotDoubted = """
        NOT EXISTS (
            SELECT FROM breakers b
            WHERE b.app = s.app AND b.provider = s.provider AND b.deaths_since IS NOT NULL OFFSET 0)
        """

    /// The row is kept, since it describes the target of deliveries in the ledger.
    static let tokens = Statement(
        """
        WITH \(ended("s.device_token <> '' AND \(isNotDoubted)"))
        UPDATE push_subscriptions s SET device_token = '', subscription = NULL
        FROM held d WHERE \(DeadDevice.isSubscription)
        """
    )

    static let devices = Statement(
        """
        WITH \(ended("s.device_token = '' AND s.source_time < \(before)"))
        DELETE FROM push_subscriptions s USING held d WHERE \(DeadDevice.isSubscription)
        """
    )
}
