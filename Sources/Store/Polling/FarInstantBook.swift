package import Postgres

/// Corrects times that are further in the future than any plan.
///
/// A clock that was ahead for a while leaves such times behind.
///
/// A row with such a time would wait for as long as the clock was ahead. Here its time is set to now, so that it is
/// due, and the rules run again before anything is sent. Claims keep their numbers, so that a live claimer can settle
/// as usual.
package struct FarInstantBook: Sendable {
    private let pool: PostgresPool

    package init(pool: PostgresPool) {
        self.pool = pool
    }

    /// The kinds of rows that are searched, with names for operators.
    package enum Place: String, CaseIterable, Sendable {
        case deliveries
        case receipts
        case events
        case badges
        case reminders
        case pages
        case breakers
        case replays
        case processes
    }

    /// The progress of a search through events that are planned far ahead, by urgency.
    ///
    /// Any number of these events may be correct, so one step cannot check all of them.
    package struct Walk: Sendable {
        fileprivate var passed: [Int64?] = [nil, nil, nil]

        package init() {}
    }

    /// Corrects the rows of one kind, at most 500 per urgency, and returns their number.
    ///
    /// For events, each step checks the next 500 of each urgency and restarts after the last one. If the database clock
    /// is behind the times of the migrations, nothing is changed: by such a clock, all times would be far ahead.
    package func setBack(in place: Place, _ walk: inout Walk) async throws(PostgresError) -> Int {
        let passed = walk.passed
        let (count, now) = try await pool.withConnection { (connection) throws(PostgresError) -> (Int, [Int64?]) in
            guard try !connection.run(Self.isBehind).boolean(0, 0) else { return (0, passed) }
            if place == .events { return try Self.setEventsBack(after: passed, on: connection) }
            var count = 0
            for statement in Self.statements(place) { count += try connection.run(statement).affectedCount }
            return (count, passed)
        }
        walk.passed = now
        return count
    }

    private static func setEventsBack(
        after passed: [Int64?],
        on connection: PostgresConnection
    ) throws(PostgresError) -> (Int, [Int64?]) {
        var count = 0
        var reached: [Int64?] = []
        for (statement, last) in zip(events, passed) {
            let rows = try connection.run(statement, [last.map { .instant($0) } ?? .null])
            count += Int(try rows.integer(0, 0))
            reached.append(try rows.integer(0, 1) < most ? nil : try rows.optionalInstant(0, 2))
        }
        return (count, reached)
    }

    private static func statements(_ place: Place) -> [Statement] {
        switch place {
        case .deliveries: deliveries
        case .receipts: [receipts]
        case .events: []
        case .badges: [badges]
        case .reminders: [reminders]
        case .pages: [pages]
        case .breakers: [breakers]
        case .replays: [replays]
        case .processes: [processes]
        }
    }

    /// The maximum number of rows per urgency that one step corrects.
    private static let most = 500

    /// Longer than any wait: a pause ends within 30 days, a digest is sent at least once a week, and a retry within its
    /// longest delay.
    private static let far = "now() + interval '31 days'"
    /// A recorded time is in the past, so it may be ahead only by the clock difference between two hosts.
    private static let ahead = "now() + interval '1 min'"

    private static let isBehind = Statement(
        "SELECT EXISTS (SELECT FROM schema_migrations WHERE applied_at > \(ahead))",
        effect: .reads
    )

    private static let deliveries = (0...2).map { urgency in
        Statement(
            """
            WITH far AS MATERIALIZED (
                SELECT person, id, target FROM ledger
                WHERE urgency = \(urgency) AND due_at IS NOT NULL AND sent_at IS NULL AND due_at > \(far)
                ORDER BY due_at LIMIT \(most)
                FOR UPDATE SKIP LOCKED
            )
            UPDATE ledger d SET due_at = now(), updated_at = least(d.updated_at, now())
            FROM far f WHERE d.person = ANY (ARRAY[f.person]) AND d.id = f.id AND d.target = f.target
            """
        )
    }

    private static let receipts = Statement(
        """
        WITH far AS MATERIALIZED (
            SELECT person, id, target FROM ledger
            WHERE sent_at IS NOT NULL AND due_at > \(far)
            ORDER BY due_at LIMIT \(most)
            FOR UPDATE SKIP LOCKED
        )
        UPDATE ledger d SET due_at = now(), sent_at = least(d.sent_at, now())
        FROM far f WHERE d.person = ANY (ARRAY[f.person]) AND d.id = f.id AND d.target = f.target
        """
    )

    /// An event may be planned for any time.
    ///
    /// An event is wrong if it is planned for later than its `deliverAt`.
    ///
    /// A step includes all events planned for the same time as its last one, so that the next step omits none.
    private static let events = (0...2).map { urgency in
        Statement(
            """
            WITH looked AS MATERIALIZED (
                SELECT app, id, planned_at FROM events
                WHERE urgency = \(urgency) AND expanded_at IS NULL AND cancelled_at IS NULL
                  AND planned_at > greatest(\(far), $1::timestamptz)
                ORDER BY planned_at FETCH FIRST \(most) ROWS WITH TIES
            ), wrong AS MATERIALIZED (
                SELECT e.app, e.id FROM looked l
                JOIN events e ON e.app = ANY (ARRAY[l.app]) AND e.id = l.id AND e.planned_at = l.planned_at
                WHERE e.planned_at > coalesce((e.content ->> 'deliverAt')::timestamptz, now()) + interval '1 h'
                FOR UPDATE OF e SKIP LOCKED
            ), changed AS (
                UPDATE events e
                SET planned_at = greatest((e.content ->> 'deliverAt')::timestamptz, now()), handed_over_at = NULL
                FROM wrong w WHERE e.app = ANY (ARRAY[w.app]) AND e.id = w.id
                RETURNING e.id
            )
            SELECT (SELECT count(*) FROM changed), (SELECT count(*) FROM looked), (SELECT max(planned_at) FROM looked)
            """
        )
    }

    private static let badges = Statement(
        """
        WITH far AS MATERIALIZED (
            SELECT app, user_id FROM badge_updates WHERE requested_at > \(ahead)
            ORDER BY requested_at LIMIT \(most)
            FOR UPDATE SKIP LOCKED
        )
        UPDATE badge_updates b SET requested_at = now(), handed_over_at = NULL
        FROM far f WHERE b.app = f.app AND b.user_id = ANY (ARRAY[f.user_id])
        """
    )

    /// A reminder is due at least once a week.
    ///
    /// A reminder without a plan is planned again.
    private static let reminders = Statement(
        """
        WITH far AS MATERIALIZED (
            SELECT app, user_id, id FROM reminders
            WHERE removed_at IS NULL AND next_fire_at > \(far) AND next_fire_at < 'infinity'
            ORDER BY next_fire_at LIMIT \(most)
            FOR UPDATE SKIP LOCKED
        )
        UPDATE reminders t
        SET next_fire_at = NULL, held_until = NULL, planned_from = least(t.planned_from, now()),
            last_fired_on = CASE WHEN t.last_fired_on <= (now() + interval '1 day')::date THEN t.last_fired_on END
        FROM far f WHERE t.app = f.app AND t.user_id = ANY (ARRAY[f.user_id]) AND t.id = f.id
        """
    )

    private static let pages = Statement(
        """
        WITH far AS MATERIALIZED (
            SELECT fanout, page FROM fanout_pages
            WHERE coalesce(handed_over_at, '-infinity') > \(ahead)
              AND coalesce(handed_over_at, '-infinity') < 'infinity'
            ORDER BY coalesce(handed_over_at, '-infinity') LIMIT \(most)
            FOR UPDATE SKIP LOCKED
        )
        UPDATE fanout_pages p SET taken_at = least(p.taken_at, now()), handed_over_at = now()
        FROM far f WHERE p.fanout = ANY (ARRAY[f.fanout]) AND p.page = f.page
        """
    )

    private static let breakers = Statement(
        """
        UPDATE breakers SET probe_at = now(), opened_at = least(opened_at, now())
        WHERE probe_at > now() + interval '1 h'
        """
    )

    private static let replays = Statement(
        """
        UPDATE replays SET runner_until = now()
        WHERE finished_at IS NULL AND runner_until > now() + interval '1 h'
        """
    )

    private static let processes = Statement("DELETE FROM processes WHERE seen_at > \(ahead)")
}
