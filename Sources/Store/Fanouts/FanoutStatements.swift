import Postgres

/// The fan-outs' SQL statements.
enum FanoutStatements {
    // MARK: - Opening

    /// Opens new fan-outs with their first page.
    ///
    /// Parameters: apps, ids, topics (null for everyone), types and the page size.
    ///
    /// The last column is the event's position; of two copies in one batch it is the first one's.
    static let open = Statement(
        """
        WITH asked AS (
            SELECT DISTINCT ON (r.app, r.id) r.*
            FROM unnest($1::text[], $2::text[], $3::text[], $4::text[])
                 WITH ORDINALITY AS r (app, id, topic, type, position)
            ORDER BY r.app, r.id, r.position
        ), held AS MATERIALIZED (
            SELECT a.*, e.urgency FROM asked a
            JOIN events e ON e.app = ANY (ARRAY[a.app]) AND e.id = a.id
            WHERE e.cancelled_at IS NULL
            ORDER BY a.app, a.id
            FOR NO KEY UPDATE OF e
        ), opened AS (
            INSERT INTO fanouts (app, event_id, topic, type, urgency, planned, planned_to, is_planned)
            SELECT w.app, w.id, w.topic, w.type, w.urgency, 1, coalesce(w.bound, w.last, ''), w.bound IS NULL
            FROM (
                SELECT a.*, CASE
                           WHEN a.topic IS NULL THEN (\(bound(of: everyone("a.app"), after: "''", "$5")))
                           ELSE (\(bound(of: followers("a.app", "a.topic"), after: "''", "$5")))
                       END AS bound,
                       CASE
                           WHEN a.topic IS NULL THEN (\(last(of: everyone("a.app"), after: "''")))
                           ELSE (\(last(of: followers("a.app", "a.topic"), after: "''")))
                       END AS last
                FROM held a
            ) AS w
            ORDER BY w.app, w.id
            ON CONFLICT (app, event_id) DO NOTHING
            RETURNING number, app, event_id, urgency, planned_to AS upto
        ), first AS (
            INSERT INTO fanout_pages (fanout, page, after, upto, handed_over_at)
            SELECT number, 0, '', upto, now() FROM opened
        ), expanded AS (
            UPDATE events e SET expanded_at = coalesce(e.expanded_at, now())
            FROM opened o WHERE e.app = ANY (ARRAY[o.app]) AND e.id = o.event_id
        )
        SELECT o.number, 0::bigint, o.urgency::bigint, a.position
        FROM opened o JOIN asked a ON a.app = o.app AND a.id = o.event_id
        """
    )

    static let untakenOfEvents = Statement(
        """
        SELECT p.fanout, p.page, f.urgency::bigint, r.position
        FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS r (app, id, position)
        CROSS JOIN LATERAL (
            SELECT number, urgency, state FROM fanouts WHERE app = r.app AND event_id = r.id OFFSET 0
        ) AS f
        CROSS JOIN LATERAL (
            SELECT fanout, page FROM fanout_pages WHERE fanout = f.number AND taken_at IS NULL OFFSET 0
        ) AS p
        WHERE f.state = 'running'
        """,
        effect: .reads
    )

    static let untaken = Statement(
        """
        SELECT p.fanout, p.page, f.urgency::bigint
        FROM fanouts f JOIN fanout_pages p ON p.fanout = f.number AND p.taken_at IS NULL
        WHERE f.number = $1 AND f.state = 'running'
        """,
        effect: .reads
    )

    // MARK: - Pages

    /// Locks the fan-out, before a page is planned or ended.
    static let hold = Statement(
        """
        SELECT app, topic, started_at, state, urgency::bigint, planned, planned_to, is_planned,
               floor(extract(epoch FROM now() - resumed_at) * 1000)::bigint
        FROM fanouts WHERE number = $1 FOR NO KEY UPDATE
        """
    )

    static let event = Statement(
        """
        SELECT coalesce(e.body, e.content::text), e.content_hash
        FROM fanouts f JOIN events e ON e.app = f.app AND e.id = f.event_id
        WHERE f.number = $1 AND e.content IS NOT NULL
        """,
        effect: .reads
    )

    /// Takes a page that is not taken, or that its worker has lost.
    ///
    /// A page counts as lost if the broker redelivers its message, or after five minutes. A repeat with the same claim
    /// takes the page again.
    static let take = Statement(
        """
        UPDATE fanout_pages p
        SET taken_at = now(), handed_over_at = now(), claim = $3,
            copies = CASE WHEN was.taken_at IS NULL THEN 0 ELSE p.copies END,
            takes = least(p.takes + ($4::boolean AND p.claim IS DISTINCT FROM $3::bigint)::integer, 1000)
        FROM (SELECT taken_at, claim FROM fanout_pages WHERE fanout = $1 AND page = $2 FOR UPDATE) AS was
        WHERE p.fanout = $1 AND p.page = $2
          AND (was.taken_at IS NULL OR was.claim = $3 OR $4::boolean OR was.taken_at < now() - interval '5 min')
        RETURNING p.after, p.upto, p.takes::bigint, was.taken_at IS NOT NULL
        """
    )

    /// Parks a page of a paused fan-out: its message ends, and a resume frees the page.
    static let park = Statement(
        "UPDATE fanout_pages SET taken_at = NULL, handed_over_at = 'infinity' WHERE fanout = $1 AND page = $2"
    )

    /// Returns the page while its message waits.
    ///
    /// The page did not crash its worker, so its takes are counted from zero. It stays taken if another batch has taken
    /// it meanwhile.
    static let putBack = Statement(
        """
        UPDATE fanout_pages SET taken_at = NULL, handed_over_at = now(), takes = 0
        WHERE fanout = $1 AND page = $2 AND claim = $3 AND taken_at IS NOT NULL
        """
    )

    static let endPage = Statement("DELETE FROM fanout_pages WHERE fanout = $1 AND page = $2")

    static let openPages = Statement("SELECT count(*) FROM fanout_pages WHERE fanout = $1", effect: .reads)

    static let plan = Statement(
        """
        INSERT INTO fanout_pages (fanout, page, after, upto, handed_over_at)
        VALUES ($1, $2, $3, $4, CASE WHEN $5::boolean THEN now() ELSE 'infinity' END)
        """
    )

    static let planned = Statement(
        "UPDATE fanouts SET planned = $2, planned_to = $3, is_planned = $4 WHERE number = $1"
    )

    /// Adds a page's tally.
    ///
    /// With the last page the fan-out is finished.
    static let count = Statement(
        """
        UPDATE fanouts f
        SET pages = pages + 1, users = users + $2::bigint, recorded = recorded + $3::bigint, sent = sent + $4::bigint,
            worked_at = now(),
            state = CASE WHEN end_of.is_last THEN 'finished' ELSE state END,
            trouble = CASE WHEN end_of.is_last THEN NULL ELSE trouble END,
            paused_at = CASE WHEN end_of.is_last THEN NULL ELSE paused_at END,
            finished_at = CASE WHEN end_of.is_last THEN now() ELSE finished_at END,
            planned_to = CASE WHEN end_of.is_last THEN '' ELSE planned_to END
        FROM (
            SELECT f.number AS of, f.is_planned AND f.state <> 'cancelled'
                   AND NOT EXISTS (SELECT FROM fanout_pages p WHERE p.fanout = f.number) AS is_last
            FROM fanouts f WHERE f.number = $1
        ) AS end_of
        WHERE f.number = end_of.of
        """
    )

    static let pause = Statement(
        "UPDATE fanouts SET state = 'paused', trouble = $2, paused_at = now() WHERE number = $1 AND state = 'running'"
    )

    /// Takes pages of running fan-outs that have no message, or whose message has not been taken for `$2` milliseconds.
    ///
    /// The interval doubles each time. The pages are read in the order of their index.
    static let forgotten = Statement(
        """
        UPDATE fanout_pages p
        SET handed_over_at = now(), copies = CASE WHEN lost.copied THEN least(p.copies + 1, 10) ELSE p.copies END
        FROM (
            SELECT p.fanout, p.page, f.urgency, p.handed_over_at IS NOT NULL AS copied
            FROM fanout_pages p
            CROSS JOIN LATERAL (SELECT urgency, state FROM fanouts WHERE number = p.fanout OFFSET 0) AS f
            WHERE coalesce(p.handed_over_at, '-infinity') < now() - $2::bigint * interval '1 ms'
              AND coalesce(p.handed_over_at < now() - $2::bigint * interval '1 ms' * (1 << p.copies), true)
              AND f.state = 'running'
            ORDER BY coalesce(p.handed_over_at, '-infinity')
            LIMIT $1
            FOR UPDATE OF p SKIP LOCKED
        ) AS lost
        WHERE p.fanout = ANY (ARRAY[lost.fanout]) AND p.page = lost.page
        RETURNING p.fanout, p.page, lost.urgency::bigint
        """
    )

    static let giveBack = Statement(
        """
        UPDATE fanout_pages p SET handed_over_at = NULL
        FROM unnest($1::bigint[], $2::bigint[]) AS w (fanout, page)
        WHERE p.fanout = ANY (ARRAY[w.fanout]) AND p.page = w.page AND p.taken_at IS NULL
        """
    )

    // MARK: - Audiences

    /// The last user of the next full page, and the last user of all.
    ///
    /// Parameters: app, topic, the previous user and the page size.
    static let topicBound = ends(of: followers("$1", "$2"), after: "$3", "$4")
    static let everyoneBound = ends(of: everyone("$1"), after: "$2", "$3")

    /// The users on a page.
    ///
    /// Parameters: app, topic, the time of the snapshot, the user before the page, and its last user.
    static let followers = Statement(page(of: followers("$1", "$2"), at: "$3", after: "$4", upto: "$5"), effect: .reads)
    static let everyone = Statement(page(of: everyone("$1"), at: "$2", after: "$3", upto: "$4"), effect: .reads)

    /// A possible audience: a part of a table, in the order of an index by user id.
    private struct Crowd {
        let table: String
        let condition: String
        /// Further columns that are read for each user, each with a leading comma.
        let columns: String
        /// The column with the time at which a user joined the audience, by the database clock.
        let since: String
    }

    private static func followers(_ app: String, _ topic: String) -> Crowd {
        Crowd(
            table: "follows",
            condition: "app = \(app) AND topic = \(topic) AND removed_at IS NULL",
            columns: ", \(StoredFollow.columns(of: "c"))",
            since: "followed_at"
        )
    }

    private static func everyone(_ app: String) -> Crowd {
        Crowd(table: "recipients", condition: "app = \(app)", columns: "", since: "recorded_at")
    }

    private static func ends(of crowd: Crowd, after: String, _ size: String) -> Statement {
        Statement(
            "SELECT (\(bound(of: crowd, after: after, size))), (\(last(of: crowd, after: after)))",
            effect: .reads
        )
    }

    /// Selects the last user of the audience.
    private static func last(of crowd: Crowd, after: String) -> String {
        """
        SELECT user_id FROM \(crowd.table) WHERE \(crowd.condition) AND user_id > \(after)
        ORDER BY user_id DESC LIMIT 1
        """
    }

    /// Selects the last user of a full page; no row if fewer users remain.
    private static func bound(of crowd: Crowd, after: String, _ size: String) -> String {
        """
        SELECT user_id FROM \(crowd.table) WHERE \(crowd.condition) AND user_id > \(after)
        ORDER BY user_id OFFSET \(size)::bigint - 1 LIMIT 1
        """
    }

    private static func page(of crowd: Crowd, at moment: String, after: String, upto: String) -> String {
        """
        SELECT c.user_id, \(RecipientDecoder.columns(of: "p"))\(crowd.columns)
        FROM (
            SELECT * FROM \(crowd.table)
            WHERE \(crowd.condition) AND user_id > \(after) AND user_id <= \(upto)
              AND \(crowd.since) <= \(moment)::timestamptz
            ORDER BY user_id
        ) AS c
        LEFT JOIN LATERAL \(UserKey.row(of: "c")) AS p ON true
        ORDER BY c.user_id
        """
    }
}
