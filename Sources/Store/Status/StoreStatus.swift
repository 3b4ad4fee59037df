package import BellhopRules
package import Postgres

/// What the tables say of work that waits and of work that failed, for whoever asks how things stand.
///
/// Each count stops at ``most``, so that asking costs little however bad things are.
package struct StoreStatus: Sendable {
    /// Deliveries that are owed at a known time, the same state and reason together.
    package struct Owed: Sendable, Equatable {
        package let state: String
        /// Why it waits; nil where none is written down.
        package let reason: String?
        package let count: Int
        /// The earliest time at which one of them is due, in microseconds since 1970.
        package let oldestDue: Int64
    }

    /// Deliveries that wait for their outlet to have room.
    package struct Backlog: Sendable, Equatable {
        /// The app, the provider, and the platform or the type where only that is held up, such as `drop/fcm`.
        package let name: String
        package let count: Int
        /// When the first was recorded, in microseconds since 1970.
        package let oldest: Int64
    }

    /// Open dead letters of one kind.
    package struct DeadLetters: Sendable, Equatable {
        package let stage: String
        package let reason: String
        package let count: Int
        /// When one of them failed last, in microseconds since 1970.
        package let latest: Int64
    }

    /// Events that are kept until their time comes or until they are expanded.
    package struct Planned: Sendable, Equatable {
        package let count: Int
        /// The earliest `deliverAt`, in microseconds since 1970; nil where none has one.
        package let next: Int64?
        /// How many should have been published more than a minute ago.
        package let overdue: Int
    }

    /// Events on their way to wide audiences.
    package struct Fanouts: Sendable {
        package let running: Int
        package let paused: Int
        /// The latest of them, at most so many as an overview shows.
        package let latest: [FanoutProgress]
    }

    /// A replay that somebody has paused, or that paused by itself.
    package struct PausedReplay: Sendable, Equatable {
        package let id: Int64
        /// Items that have not gone out.
        package let waiting: Int
        package let reason: String?
    }

    /// What retention has noted that cannot be: see ``RetiredKind``.
    package struct RetiredAhead: Sendable, Equatable {
        package let kind: String
        package let upTo: Timestamp
    }

    /// Above this nothing is counted.
    package static let most = 100_000

    /// The largest groups first, without what is being sent at this moment.
    package let owed: [Owed]
    /// How many of those should have gone out so long ago that nobody seems to hand them over.
    package let overdue: Int
    /// By their names.
    package let backlogs: [Backlog]
    package let planned: Planned
    package let fanouts: Fanouts
    /// The largest groups first.
    package let deadLetters: [DeadLetters]
    /// Providers that refuse us, in the order of their apps.
    package let breakers: [OpenBreaker]
    /// What operators keep from being sent, the first one first.
    package let holds: [OperatorHold]
    /// Replays that wait for a person.
    package let pausedReplays: [PausedReplay]
    /// Who was seen within half a minute.
    package let processes: [SeenProcess]
    /// Notes of the retention that lie ahead of the clock, as one that was wrong for a while leaves them.
    package let retiredAhead: [RetiredAhead]

    /// Reads all of it; each part is a statement of its own.
    package init(of pool: PostgresPool) async throws(PostgresError) {
        let owedRows = try await pool.run(Self.owedStatement, [])
        let plannedRows = try await pool.run(Self.plannedStatement, [])
        let letterRows = try await pool.run(Self.deadLetterStatement, [])
        owed = try owedRows.map { (rows, row) throws(PostgresError) in
            Owed(
                state: try rows.text(row, 0),
                reason: try rows.optionalText(row, 1),
                count: try rows.number(row, 2),
                oldestDue: try rows.instant(row, 3)
            )
        }
        backlogs = try await Self.backlogs(pool)
        overdue = try owedRows.map { (rows, row) throws(PostgresError) in try rows.number(row, 4) }.reduce(0, +)
        deadLetters = try letterRows.map { (rows, row) throws(PostgresError) in
            DeadLetters(
                stage: try rows.text(row, 0),
                reason: try rows.text(row, 1),
                count: try rows.number(row, 2),
                latest: try rows.instant(row, 3)
            )
        }
        self.planned = Planned(
            count: try plannedRows.number(0, 0),
            next: try plannedRows.optionalInstant(0, 1),
            overdue: try plannedRows.number(0, 2)
        )
        breakers = try await BreakerBook(pool: pool).all()
        holds = try await HoldBook(pool: pool).all()
        processes = try await ProcessBook(pool: pool).all()
        pausedReplays = try await pool.run(Self.pausedStatement, []).map { (rows, row) throws(PostgresError) in
            PausedReplay(
                id: try rows.integer(row, 0),
                waiting: try rows.number(row, 1),
                reason: try rows.optionalText(row, 2)
            )
        }
        fanouts = try await Self.fanouts(pool)
        retiredAhead = try await pool.run(Self.aheadStatement, []).map { (rows, row) throws(PostgresError) in
            RetiredAhead(kind: try rows.text(row, 0), upTo: try rows.moment(row, 1))
        }
    }

    /// What waits for outlets to have room, by the names of the backlogs.
    package static func backlogs(_ pool: PostgresPool) async throws(PostgresError) -> [Backlog] {
        try await pool.run(backlogStatement, []).map { (rows, row) throws(PostgresError) in
            Backlog(name: try rows.text(row, 0), count: try rows.number(row, 1), oldest: try rows.instant(row, 2))
        }
    }

    private static func fanouts(_ pool: PostgresPool) async throws(PostgresError) -> Fanouts {
        let groups = try await FanoutGauge(of: pool).groups
        var open = FanoutFilter()
        open.states = FanoutState.open
        let latest = groups.isEmpty ? [] : try await FanoutDesk(pool: pool).latest(open, atMost: 5, counting: most)
        let count = { (state: FanoutState) in groups.filter { $0.state == state }.map(\.count).reduce(0, +) }
        return Fanouts(running: count(.running), paused: count(.paused), latest: latest)
    }

    /// A sweep hands over within seconds what is due, and after five minutes what was stranded: ten are too many.
    private static let owedStatement = Statement(
        """
        SELECT state, reason, count(*), min(due_at), count(*) FILTER (WHERE due_at < now() - interval '10 min')
        FROM (
            SELECT delivery_state(state) AS state, reason, due_at FROM ledger
            WHERE due_at IS NOT NULL AND sent_at IS NULL
            ORDER BY due_at LIMIT \(most)
        ) AS owed
        GROUP BY state, reason
        ORDER BY count(*) DESC, state, reason
        """,
        effect: .reads
    )

    private static let aheadStatement = Statement(
        "SELECT kind, up_to FROM retired WHERE up_to > now() ORDER BY kind",
        effect: .reads
    )

    private static let backlogStatement = Statement(
        """
        WITH \(BacklogBook.loose)
        SELECT n.outlet, c.count, o.oldest
        FROM names n
        CROSS JOIN LATERAL (
            SELECT count(*) AS count FROM (SELECT FROM ledger d WHERE d.outlet = n.outlet LIMIT \(most)) AS counted
        ) AS c
        \(BacklogBook.oldest)
        WHERE n.outlet IS NOT NULL AND o.oldest IS NOT NULL
        ORDER BY n.outlet
        """,
        effect: .reads
    )

    private static let pausedStatement = Statement(
        """
        SELECT r.id, w.count, r.pause_reason FROM replays r
        CROSS JOIN LATERAL (
            SELECT count(*) AS count FROM (
                SELECT FROM replay_items i WHERE i.replay_id = r.id AND i.state = 'waiting' LIMIT \(most)
            ) AS counted
        ) AS w
        WHERE r.finished_at IS NULL AND r.state = 'paused' ORDER BY r.id LIMIT 20
        """,
        effect: .reads
    )

    private static let plannedStatement = Statement(
        """
        SELECT (SELECT count(*) FROM (
                   SELECT FROM events WHERE expanded_at IS NULL AND cancelled_at IS NULL LIMIT \(most)
               ) AS waiting),
               min(planned_at), count(*) FILTER (WHERE planned_at < now() - interval '1 min')
        FROM (
            SELECT planned_at FROM events
            WHERE expanded_at IS NULL AND cancelled_at IS NULL
            ORDER BY planned_at LIMIT \(most)
        ) AS timed
        """,
        effect: .reads
    )

    private static let deadLetterStatement = Statement(
        """
        SELECT stage, reason, count(*), max(last_failed_at)
        FROM (SELECT stage, reason, last_failed_at FROM dead_letters WHERE state = 'open' LIMIT \(most)) AS open
        GROUP BY stage, reason
        ORDER BY count(*) DESC, stage, reason
        """,
        effect: .reads
    )
}
