import Postgres

/// The inbox's SQL statements.
///
/// Arrays are unnested in a select list, since the server then returns their elements one by one. A function in `FROM`
/// would first materialise all of them.
enum InboxStatements {
    /// Writes records with separate contents, or with a few contents that many records share.
    ///
    /// ``RecordColumns`` provides the parameters.
    static let record = recording(
        """
        SELECT \(recordColumns), \(wordColumns { "unnest(\($0))" })
        """
    )
    static let recordAlike = recording(
        """
        SELECT own.*, \(wordColumns { "(\($0))[own.words]" })
        FROM (SELECT \(recordColumns), unnest($33::bigint[]) AS words) AS own
        """
    )

    private static let recordColumns = """
        unnest($1::bigint[]) AS person, unnest($2::bigint[]) AS id, unnest($3::bigint[]) AS position,
        unnest($4::text[]) AS unsent, unnest($5::text[]) AS unsent_reason, unnest($6::bytea[]) AS subject_hash
        """

    /// Returns the columns of the content, each as `value` reads it from its array.
    private static func wordColumns(_ value: (String) -> String) -> String {
        let columns = [
            ("bigint", "urgency"), ("bytea", "content_hash"), ("text", "event_id"), ("text", "type"), ("text", "title"),
            ("text", "body"), ("text", "venue_id"), ("text", "link_web"), ("text", "link_mobile"),
            ("text", "link_scheme"), ("text", "data"), ("text", "target_id"), ("text", "metadata"), ("text", "extras"),
            ("text", "collapse_key"), ("text", "app"), ("timestamptz", "said_at"),
        ]
        return columns.enumerated().map { place, column in
            "\(value("$\(place + 7)::\(column.0)[]")) AS \(column.1)"
        }.joined(separator: ", ")
    }

    /// Inserts deliveries for new notifications only: inserting a `sending` delivery gives the right to send it.
    ///
    /// A delivery that became due while the batch was delayed is due now, since a poll may not search further back.
    /// Nothing is written for a user who has been erased since, nor under a number that ended with an erasure. An
    /// erasure that is about to end a number waits for this statement.
    private static func recording(_ source: String) -> Statement {
        Statement(
            """
            WITH recorded AS (
                INSERT INTO inbox
                    (person, id, created_at, said_at, urgency, unsent, unsent_reason, content_hash, event_id, type, title, body,
                     venue_id, link_web, link_mobile, link_scheme, data, target_id, metadata, extras, collapse_key)
                SELECT r.person, r.id, now() + r.position * interval '1 us', r.said_at, r.urgency, r.unsent::"char",
                       r.unsent_reason, r.content_hash, r.event_id, r.type, r.title, r.body, r.venue_id, r.link_web,
                       r.link_mobile, r.link_scheme, r.data, r.target_id, r.metadata, r.extras, r.collapse_key
                FROM (\(source)) AS r
                WHERE NOT EXISTS (
                    SELECT FROM tombstones t
                    WHERE t.app = r.app AND t.subject_hash = r.subject_hash
                      AND (\(ErasedUsers.isOlder)
                           OR NOT EXISTS (SELECT FROM people p WHERE p.number = r.person FOR KEY SHARE))
                    OFFSET 0
                )
                ON CONFLICT (person, id) DO NOTHING
                RETURNING person, id
            ), opened AS (
                INSERT INTO ledger (person, id, target, state, reason, claim, due_at, decision, urgency)
                SELECT n.person, n.id, d.target, d.state::"char", d.reason,
                       CASE WHEN d.state = \(DeliveryState.sending.sql) THEN $24::bigint END,
                       CASE WHEN d.due_at IS NOT NULL THEN greatest(d.due_at, now()) END, d.decision, d.urgency
                FROM (
                    SELECT unnest($25::bigint[]) AS person, unnest($26::bigint[]) AS id, unnest($27::bigint[]) AS target,
                           unnest($28::text[]) AS state, unnest($29::text[]) AS reason,
                           unnest($30::timestamptz[]) AS due_at, unnest($31::jsonb[]) AS decision,
                           unnest($32::bigint[]) AS urgency
                ) AS d
                JOIN recorded n ON n.id = d.id AND n.person = d.person
            )
            SELECT id FROM recorded
            """
        )
    }

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
