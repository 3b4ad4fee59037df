package import BellhopRules
package import Postgres

/// A user in the audience of an event.
package struct AudienceMember: Sendable {
    package let key: UserKey
    /// The data that the rules require; defaults if nothing is stored for the user.
    package let recipient: Recipient
    /// The user's follow of the event's topic; `nil` if the event is for everyone.
    package let follow: StoredFollow?
}

/// The audiences of fan-outs: parts of tables, in the order of the users' ids.
enum FanoutAudience {
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

    /// A part of a table whose rows are an audience, in the order of an index by user id.
    struct AudienceRange {
        let table: String
        let condition: String
        /// Further columns that are read for each user, each with a leading comma.
        let columns: String
        /// The column with the time at which a user joined the audience, by the database clock.
        let since: String
    }

    static func followers(_ app: String, _ topic: String) -> AudienceRange {
        AudienceRange(
            table: "follows",
            condition: "app = \(app) AND topic = \(topic) AND removed_at IS NULL",
            columns: ", \(StoredFollow.columns(of: "c"))",
            since: "followed_at"
        )
    }

    static func everyone(_ app: String) -> AudienceRange {
        AudienceRange(table: "recipients", condition: "app = \(app)", columns: "", since: "recorded_at")
    }

    private static func ends(of range: AudienceRange, after: String, _ size: String) -> Statement {
        Statement(
            "SELECT (\(bound(of: range, after: after, size))), (\(last(of: range, after: after)))",
            effect: .reads
        )
    }

    /// Selects the last user of the audience.
    static func last(of range: AudienceRange, after: String) -> String {
        """
        SELECT user_id FROM \(range.table) WHERE \(range.condition) AND user_id > \(after)
        ORDER BY user_id DESC LIMIT 1
        """
    }

    /// Selects the last user of a full page; no row if fewer users remain.
    static func bound(of range: AudienceRange, after: String, _ size: String) -> String {
        """
        SELECT user_id FROM \(range.table) WHERE \(range.condition) AND user_id > \(after)
        ORDER BY user_id OFFSET \(size)::bigint - 1 LIMIT 1
        """
    }

    private static func page(of range: AudienceRange, at moment: String, after: String, upto: String) -> String {
        """
        SELECT c.user_id, \(RecipientDecoder.columns(of: "p"))\(range.columns)
        FROM (
            SELECT * FROM \(range.table)
            WHERE \(range.condition) AND user_id > \(after) AND user_id <= \(upto)
              AND \(range.since) <= \(moment)::timestamptz
            ORDER BY user_id
        ) AS c
        LEFT JOIN LATERAL \(UserKey.row(of: "c")) AS p ON true
        ORDER BY c.user_id
        """
    }
}

extension WorkerStore {
    /// Opens the fan-outs of stored events, each once, and returns the pages to publish.
    ///
    /// The audience is the set of users at this moment. A cancelled event has no pages. If a fan-out exists already,
    /// its untaken pages are returned, since the process that opened it may have died before it published them. The
    /// results are in the order of `plans`.
    package func open(_ plans: [PlannedEvent]) async throws(PostgresError) -> [[FanoutPage]] {
        guard !plans.isEmpty else { return [] }
        let events = plans.map(\.event)
        let parameters: [Parameter] = [
            .textArray(events.map(\.app.text)), .textArray(events.map(\.id.text)),
            .textArray(events.map(\.audience.topic?.text)), .textArray(events.map(\.type.text)),
            .integer(Int64(usersPerPage)),
        ]
        return try await pool.transaction { (connection) throws(PostgresError) in
            var pages = events.map { _ in [FanoutPage]() }
            let fresh = try connection.run(Self.open, parameters)
            for row in fresh.indices {
                guard let place = try fresh.place(row, 3, in: pages.indices) else { continue }
                pages[place].append(try FanoutPage(fresh, row))
            }
            // If a batch contains copies of an event, the first copy gets the page.
            let new = Set(
                events.indices.filter { !pages[$0].isEmpty }.map { [events[$0].app.text, events[$0].id.text] }
            )
            let known = events.indices.filter { !new.contains([events[$0].app.text, events[$0].id.text]) }
            guard !known.isEmpty else { return pages }
            let orphans = try connection.run(
                Self.untakenOfEvents,
                [.textArray(known.map { events[$0].app.text }), .textArray(known.map { events[$0].id.text })]
            )
            for row in orphans.indices {
                guard let place = try orphans.place(row, 3, in: known.indices) else { continue }
                pages[known[place]].append(try FanoutPage(orphans, row))
            }
            return pages
        }
    }

    /// Returns the users on a page who belonged to the audience at the snapshot and still do.
    ///
    /// It includes their stored data and, for a topic, their follows.
    package func audience(of page: ClaimedPage) async throws(PostgresError) -> [AudienceMember] {
        let range = page.range
        let bounds: [Parameter] = [.instant(range.snapshot), .text(range.after), .text(range.upto)]
        let rows =
            if let topic = range.topic {
                try await pool.run(FanoutAudience.followers, [.text(range.app.text), .text(topic)] + bounds)
            } else {
                try await pool.run(FanoutAudience.everyone, [.text(range.app.text)] + bounds)
            }
        let reader = RecipientDecoder()
        return try rows.compactMap { (rows, row) throws(PostgresError) -> AudienceMember? in
            guard let user = UserID(validating: try rows.text(row, 0)) else { return nil }
            var key = UserKey(app: range.app, user: user)
            let recipient = try reader.read(rows, row, from: 1, numbering: &key)
            let follow = range.topic == nil ? nil : try StoredFollow(rows, row, from: 1 + RecipientDecoder.width)
            return AudienceMember(key: key, recipient: recipient, follow: follow)
        }
    }

    /// Opens new fan-outs with their first page.
    ///
    /// Parameters: apps, ids, topics (null for everyone), types and the page size.
    ///
    /// The last column is the event's position; of two copies in one batch it is the first one's.
    private static let open = Statement(
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
                           WHEN a.topic IS NULL THEN (\(FanoutAudience.bound(of: FanoutAudience.everyone("a.app"), after: "''", "$5")))
                           ELSE (\(FanoutAudience.bound(of: FanoutAudience.followers("a.app", "a.topic"), after: "''", "$5")))
                       END AS bound,
                       CASE
                           WHEN a.topic IS NULL THEN (\(FanoutAudience.last(of: FanoutAudience.everyone("a.app"), after: "''")))
                           ELSE (\(FanoutAudience.last(of: FanoutAudience.followers("a.app", "a.topic"), after: "''")))
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

    private static let untakenOfEvents = Statement(
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
}
