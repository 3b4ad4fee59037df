import BellhopRules
package import Postgres

/// The operators' queries and actions on the table `fanouts`; the workers' statements are in `WorkerStore`.
package struct FanoutAdmin: Sendable {
    let pool: PostgresPool

    /// The number of users that are counted in one answer, for the audiences of all fan-outs together.
    package static let mostCounted = 1_000_000

    /// - Parameter pool: A pool with the rights of an admin.
    package init(pool: PostgresPool) {
        self.pool = pool
    }

    /// An operator's action on a fan-out.
    ///
    /// It takes effect at the next page.
    package enum Act: String, Sendable {
        case pause
        case resume
        case cancel

        /// The states to which the action applies.
        package var acceptedStates: Set<FanoutState> {
            switch self {
            case .pause: [.running]
            case .resume: [.paused]
            case .cancel: FanoutState.open
            }
        }

        /// The changed columns.
        ///
        /// An operator's change restarts the measurement of the rate, since the earlier rate predicts little.
        fileprivate var change: String {
            switch self {
            case .pause: "state = 'paused', paused_at = now()"
            case .resume:
                """
                state = 'running', trouble = NULL, paused_at = NULL, resumed_at = now(), resumed_users = f.users
                """
            case .cancel: "state = 'cancelled', finished_at = now(), paused_at = NULL, planned_to = ''"
            }
        }

        fileprivate var audited: AuditAct {
            switch self {
            case .pause: .fanoutPause
            case .resume: .fanoutResume
            case .cancel: .fanoutCancel
            }
        }
    }

    /// Returns the number of matching fan-outs.
    package func count(_ filter: FanoutFilter) async throws(PostgresError) -> Int {
        let piece = filter.condition
        let statement = Statement("SELECT count(*) FROM fanouts f WHERE \(piece.sql)", effect: .reads)
        return try await pool.run(statement, piece.parameters).number(0, 0)
    }

    /// Returns the open fan-outs, then the others, the latest first in each part.
    ///
    /// It counts at most `most` remaining users in total.
    package func latest(
        _ filter: FanoutFilter,
        atMost limit: Int,
        counting most: Int = mostCounted
    ) async throws(PostgresError) -> [FanoutProgress] {
        var piece = filter.condition
        let count = piece.bind(.integer(Int64(limit)))
        let sql = """
            SELECT \(FanoutRecord.columns), now() AS as_of FROM fanouts f WHERE \(piece.sql)
            ORDER BY f.state NOT IN ('running', 'paused'), f.started_at DESC, f.number DESC LIMIT \(count)
            """
        let rows = try await pool.run(Statement(sql, effect: .reads), piece.parameters)
        guard !rows.isEmpty else { return [] }
        let asOf = try rows.moment(0, "as_of")
        let records = try rows.map(FanoutRecord.init)
        let open = records.filter { FanoutState.open.contains($0.state) }.map(\.number)
        // Count at least some pages of each, so that a short fan-out gets an estimated end, however many fan-outs there
        // are.
        let each = max(Self.leastCounted, most / max(1, open.count))
        let left = try await left(of: open, upTo: each)
        return records.map { record in
            let found = left[record.number] ?? 0
            return FanoutProgress(record: record, left: min(found, each), leftIsCapped: found > each, asOf: asOf)
        }
    }

    private static let leastCounted = 10_000

    private func left(of numbers: [Int64], upTo most: Int) async throws(PostgresError) -> [Int64: Int] {
        guard !numbers.isEmpty else { return [:] }
        let rows = try await pool.run(Self.left, [.integerArray(numbers), .integer(Int64(most) + 1)])
        var left: [Int64: Int] = [:]
        for row in rows.indices { left[try rows.integer(row, 0)] = try rows.number(row, 1) }
        return left
    }

    /// The maximum of open deliveries that are searched for deliveries of fan-outs, for each priority.
    package static let mostSearched = 10_000

    /// Returns app and event of the given events with a delivery that waits for its time or another attempt, or that is
    /// being sent.
    ///
    /// Of more than ``mostSearched`` such deliveries, only the first due are read.
    package func dueEvents(among events: [String]) async throws(PostgresError) -> Set<[String]> {
        guard !events.isEmpty else { return [] }
        let rows = try await pool.run(Self.dueEvents, [.textArray(events)])
        return Set(
            try rows.map { (rows, row) throws(PostgresError) in [try rows.text(row, 0), try rows.text(row, 1)] }
        )
    }

    private static let dueEvents = Statement(
        """
        SELECT DISTINCT p.app, i.event_id FROM unnest(ARRAY[0, 1, 2]) AS u (urgency)
        CROSS JOIN LATERAL (
            SELECT person, id FROM ledger WHERE urgency = u.urgency AND due_at IS NOT NULL AND sent_at IS NULL
            ORDER BY due_at LIMIT \(mostSearched)
        ) AS d
        CROSS JOIN LATERAL (SELECT event_id FROM inbox WHERE person = d.person AND id = d.id OFFSET 0) AS i
        CROSS JOIN LATERAL (SELECT app FROM people WHERE number = d.person OFFSET 0) AS p
        WHERE i.event_id = ANY ($1::text[])
        """,
        effect: .reads
    )

    /// Returns the planned and unfinished pages, and the latest operator actions.
    package func detail(of number: Int64) async throws(PostgresError) -> FanoutDetail {
        let pages = try await pool.run(Self.pages, [.integer(number)])
        let acts = try await pool.run(Self.acts, [.text(String(number))])
        return FanoutDetail(
            pages: try pages.map(FanoutDetail.Page.init),
            acts: try acts.map(FanoutDetail.Done.init)
        )
    }

    /// Applies an action to every matching fan-out, each with a separate audit entry.
    ///
    /// `agreed` is the count that the operator has confirmed: if more fan-outs match, nothing is changed. A worker that
    /// finishes a page locks the row, so the later of the two sees the earlier one's changes.
    package func perform(
        _ act: Act,
        on filter: FanoutFilter,
        agreed: Int,
        by operator: ActingOperator
    ) async throws(PostgresError) -> DeadLetterActionResult {
        var narrowed = filter
        narrowed.states = act.acceptedStates
        var piece = narrowed.condition
        let agreedTo = piece.bind(.integer(Int64(agreed)))
        let name = piece.bind(.text(`operator`.name))
        let because = piece.bind(.text(`operator`.because))
        let sql = """
            WITH chosen AS MATERIALIZED (
                SELECT f.number FROM fanouts f WHERE \(piece.sql) ORDER BY f.number FOR NO KEY UPDATE OF f
            ), size AS (SELECT count(*) AS items FROM chosen), changed AS (
                UPDATE fanouts f SET \(act.change) FROM chosen c
                WHERE f.number = c.number AND (SELECT items FROM size) <= \(agreedTo)::bigint
                RETURNING f.number, f.app, f.event_id
            ), audited AS (
                INSERT INTO audit (operator, act, filter, items, because)
                SELECT \(name)::text, \(act.audited.sql),
                       jsonb_build_object('app', app, 'event', event_id, 'fanout', number), 1, \(because)::text
                FROM changed
            )
            SELECT items, (SELECT coalesce(array_agg(number), '{}') FROM changed)::text FROM size
            """
        let parameters = piece.parameters
        let items = try await pool.transaction { (connection) throws(PostgresError) in
            let rows = try connection.run(Statement(sql), parameters)
            let changed = Parameter.text(try rows.text(0, 1))
            switch act {
            case .cancel: _ = try connection.run(Self.dropPages, [changed])
            case .resume: _ = try connection.run(Self.freePages, [changed])
            case .pause: break
            }
            return try rows.number(0, 0)
        }
        return items <= agreed ? .done(items: items) : .moreThanAgreed(items: items)
    }

    /// Adds an audit entry for a stop that found the fan-out paused or ended, and its type held.
    package func noteStop(
        of record: FanoutRecord,
        _ hold: Int64,
        by operator: ActingOperator
    ) async throws(PostgresError) {
        _ = try await pool.run(
            Self.noteStop,
            [
                .text(`operator`.name), .text(`operator`.because), .text(record.app), .text(record.event),
                .integer(record.number), .integer(hold),
            ]
        )
    }

    private static let noteStop = Statement(
        """
        INSERT INTO audit (operator, act, filter, items, because)
        VALUES ($1::text, \(AuditAct.fanoutStop.sql),
                jsonb_build_object('app', $3::text, 'event', $4::text, 'fanout', $5::bigint, 'hold', $6::bigint), 1,
                $2::text)
        """
    )

    /// Returns the operator of the latest act on each fan-out, if the act still lacks a reason.
    package func unexplained(_ numbers: [Int64]) async throws(PostgresError) -> [Int64: String] {
        guard !numbers.isEmpty else { return [:] }
        let parameters: [Parameter] = [.integerArray(numbers), .text(ActingOperator.noReasonYet)]
        let rows = try await pool.run(Self.unexplained, parameters)
        var operators: [Int64: String] = [:]
        for row in rows.indices { operators[try rows.integer(row, 0)] = try rows.text(row, 1) }
        return operators
    }

    /// `OFFSET 0` keeps the index on fan-outs, in place of a search for the newest entries of the whole audit.
    private static let unexplained = Statement(
        """
        SELECT f.number, a.operator
        FROM unnest($1::bigint[]) AS f (number)
        CROSS JOIN LATERAL (
            SELECT * FROM (
                SELECT number, operator, because FROM audit WHERE filter ->> 'fanout' = f.number::text OFFSET 0
            ) AS acts
            ORDER BY number DESC LIMIT 1
        ) AS a
        WHERE a.because = $2::text
        """,
        effect: .reads
    )

    /// Adds an audit entry with a reason that was not known at the time of the act.
    ///
    /// A hold of the fan-out's type without a reason gets it as well, so that all who see the hold read it.
    package func note(_ record: FanoutRecord, by operator: ActingOperator) async throws(PostgresError) {
        _ = try await pool.run(
            Self.note,
            [
                .text(`operator`.name), .text(`operator`.because), .text(record.app), .text(record.event),
                .integer(record.number), .text(record.type), .text(ActingOperator.noReasonYet),
            ]
        )
    }

    private static let note = Statement(
        """
        WITH held AS (
            UPDATE holds SET because = $2::text
            WHERE app = $3::text AND type = $6::text AND provider = '' AND because = $7::text
            RETURNING number
        )
        INSERT INTO audit (operator, act, filter, items, because)
        VALUES ($1::text, \(AuditAct.fanoutNote.sql), jsonb_strip_nulls(jsonb_build_object(
                    'app', $3::text, 'event', $4::text, 'fanout', $5::bigint, 'hold', (SELECT number FROM held))), 1,
                $2::text)
        """
    )

    /// Counts the users beyond the last planned page and those on planned pages.
    private static let left = Statement(
        """
        SELECT f.number, least($2, beyond.users + planned.users)
        FROM fanouts f
        CROSS JOIN LATERAL (
            SELECT count(*) AS users FROM (\(audience("f.planned_to", "NOT f.is_planned"))) AS counted
        ) AS beyond
        CROSS JOIN LATERAL (
            SELECT coalesce(sum(each.users), 0)::bigint AS users FROM fanout_pages p
            CROSS JOIN LATERAL (
                SELECT count(*) AS users FROM (\(audience("p.after", "true", upTo: "p.upto"))) AS counted
            ) AS each
            WHERE p.fanout = f.number
        ) AS planned
        WHERE f.number = ANY ($1)
        """,
        effect: .reads
    )

    /// Selects the users of `fanouts f` after a given user, by the index from which the pages are read.
    private static func audience(_ after: String, _ condition: String, upTo last: String? = nil) -> String {
        let range = { (user: String) in "\(user) > \(after)" + (last.map { " AND \(user) <= \($0)" } ?? "") }
        return """
            (SELECT 1 FROM follows w
             WHERE \(condition) AND w.app = f.app AND w.topic = f.topic AND w.removed_at IS NULL AND \(range("w.user_id"))
             LIMIT $2)
            UNION ALL
            (SELECT 1 FROM recipients r
             WHERE \(condition) AND f.topic IS NULL AND r.app = f.app AND \(range("r.user_id"))
             LIMIT $2)
            """
    }

    /// Releases the pages that were parked during the pause.
    private static let freePages = Statement(
        """
        UPDATE fanout_pages SET handed_over_at = NULL, takes = 0
        WHERE fanout = ANY ($1::bigint[]) AND handed_over_at = 'infinity'
        """
    )

    private static let pages = Statement(
        """
        SELECT page, nullif(handed_over_at, 'infinity'), taken_at FROM fanout_pages WHERE fanout = $1 ORDER BY page
        """,
        effect: .reads
    )

    private static let acts = Statement(
        """
        SELECT at, operator, act, because, NULL::bigint, false, number
        FROM audit WHERE filter ->> 'fanout' = $1::text
        UNION ALL
        SELECT ended.at, ended.operator, ended.act, ended.because, ended.items, begun.filter ->> 'event' IS NULL,
               ended.number
        FROM fanouts f
        JOIN audit begun ON begun.act = 'hold-discard' AND begun.at >= f.started_at
             AND begun.filter ->> 'app' = f.app
             AND coalesce(begun.filter ->> 'type', f.type) = f.type
             AND coalesce(begun.filter ->> 'event', f.event_id) = f.event_id
        JOIN audit ended ON ended.act = 'hold-discarded' AND ended.filter ->> 'act' = begun.number::text
        WHERE f.number = $1::text::bigint
        ORDER BY number DESC LIMIT 20
        """,
        effect: .reads
    )

    /// A separate statement, so that it sees the pages that were planned before the fan-out was locked.
    ///
    /// Pages that a worker has taken remain until they end.
    private static let dropPages = Statement(
        """
        WITH idle AS MATERIALIZED (
            SELECT fanout, page FROM fanout_pages WHERE fanout = ANY ($1::bigint[]) AND taken_at IS NULL
            FOR UPDATE SKIP LOCKED
        )
        DELETE FROM fanout_pages p USING idle i WHERE p.fanout = i.fanout AND p.page = i.page
        """
    )
}
