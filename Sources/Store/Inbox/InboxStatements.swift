import Postgres

/// The inbox's SQL statements, except the one that records a batch (``InboxColumns``).
enum InboxStatements {
    /// Selects the notification that `key` names by `person` and `id`, or the next one.
    ///
    /// The outer query must therefore compare the id.
    ///
    /// The list's index begins with the same column as the primary key. If the server considers the table small, both
    /// have the same cost for one id, and a scan of the list's index would read all of the user's rows. Only the
    /// primary key provides the order of the ids.
    static func one(_ columns: String, of key: String) -> String {
        """
        (SELECT \(columns) FROM inbox
         WHERE person = \(key).person AND id >= \(key).id
         ORDER BY id LIMIT 1)
        """
    }

    /// Notifications from the parameters of ``NotificationKey``, with their positions and their users' numbers.
    ///
    /// They are computed before any join, since a scan by an id alone would read every row with that id.
    static let named = """
        (SELECT w.position, p.number AS person, w.id
         FROM (
             SELECT generate_subscripts($1::text[], 1)::bigint AS position, unnest($1::text[]) AS app,
                    unnest($2::text[]) AS user_id, unnest($3::bigint[]) AS id
         ) AS w
         CROSS JOIN LATERAL \(UserNumbers.number(of: "w")) AS p
         OFFSET 0)
        """

    static let lookUp = Statement(
        """
        SELECT r.position, n.content_hash
        FROM \(named) AS r
        CROSS JOIN LATERAL \(one("id, content_hash", of: "r")) AS n
        WHERE n.id = r.id
        """,
        effect: .reads
    )

    /// A notification is superseded if a later one with the same collapse key has replaced it.
    ///
    /// Of the collapse keys up to the notification's own, its own is the last. The newest notification with that key is
    /// therefore the first row of a backward scan of `inbox_collapsed`. No other index has this order, so that the
    /// user's other rows are never read.
    static let load = Statement(
        """
        SELECT r.position, r.person, n.event_id, n.type, n.title, n.body, n.urgency::bigint, n.venue_id, n.link_web,
               n.link_mobile, n.link_scheme, n.data, n.target_id, n.metadata, n.said_at, n.extras, n.collapse_key,
               n.created_at, n.read_at IS NOT NULL,
               coalesce((
                   SELECT (l.created_at, l.id) > (n.created_at, n.id) FROM inbox l
                   WHERE l.person = n.person AND l.collapse_key <= n.collapse_key AND l.collapse_key IS NOT NULL
                   ORDER BY l.collapse_key DESC, l.created_at DESC, l.id DESC LIMIT 1), false)
        FROM \(named) AS r
        CROSS JOIN LATERAL \(one("*", of: "r")) AS n
        WHERE n.id = r.id
        """,
        effect: .reads
    )

    /// The condition for the number on an app's icon: in the list and not read.
    static let isUnread = """
        read_at IS NULL AND archived_at IS NULL AND (snoozed_until IS NULL OR snoozed_until <= now())
        """

    /// Counts each user's unread notifications, at most 10,000.
    ///
    /// The second parameter contains the types that do not count, separated by spaces.
    static let unread = Statement(
        """
        SELECT k.position, (
                   SELECT count(*) FROM \(unreadRows(of: "k.person")) AS shown
                   WHERE \(isUnread) AND (k.uncounted = '' OR type <> ALL (string_to_array(k.uncounted, ' ')))
               )
        FROM (
            SELECT generate_subscripts($1::bigint[], 1)::bigint AS position, unnest($1::bigint[]) AS person,
                   unnest($2::text[]) AS uncounted
        ) AS k
        """,
        effect: .reads
    )

    /// Selects a user's rows that are neither read nor archived, at most 10,000, by an index that contains no others.
    ///
    /// Only this index provides this order. Without it the server may choose the list's index, if the tables were small
    /// at the last analysis, and read all of the user's rows.
    static func unreadRows(of person: String) -> String {
        """
        (SELECT read_at, archived_at, snoozed_until, type FROM inbox
         WHERE person = \(person) AND read_at IS NULL AND archived_at IS NULL
         ORDER BY urgency LIMIT 10000)
        """
    }
}
