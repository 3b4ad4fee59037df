package import BellhopRules
package import Postgres

/// A summary of open and failed work in the tables, for the status overview.
///
/// Each count stops at ``most``, so that the cost is small even in an incident.
package struct StoreStatus: Sendable {
    /// Open deliveries with a due time, grouped by state and reason.
    package struct DueDeliveries: Sendable, Equatable {
        package let state: String
        /// The reason for the wait; `nil` if none is stored.
        package let reason: String?
        package let count: Int
        /// The earliest due time in the group, in microseconds since 1970.
        package let oldestDue: Int64
        /// The latest due time in the group.
        package let latestDue: Int64
    }

    /// Open dead letters with one stage and reason.
    package struct DeadLetters: Sendable, Equatable {
        package let stage: String
        package let reason: String
        package let count: Int
        /// The time of the latest failure, in microseconds since 1970.
        package let latest: Int64
    }

    /// Events that are stored until they are due or expanded.
    package struct Planned: Sendable, Equatable {
        package let count: Int
        /// The earliest `deliverAt`, in microseconds since 1970; `nil` if there is none.
        package let next: Int64?
        /// The number of events that should have been published more than a minute ago.
        package let overdue: Int
    }

    /// Fan-outs that have not ended.
    package struct Fanouts: Sendable {
        package let running: Int
        package let paused: Int
        /// The latest fan-outs, at most as many as an overview shows.
        package let latest: [FanoutProgress]
        /// The latest paused ones, at most as many as an overview shows; they may be older than ``latest``.
        package let latestPaused: [FanoutProgress]
    }

    /// A replay that an operator has paused, or that was paused automatically.
    package struct PausedReplay: Sendable, Equatable {
        package let id: Int64
        /// The number of unsent items.
        package let waiting: Int
        package let reason: String?
    }

    /// An impossible time that retention has stored: see ``RetentionKind``.
    package struct RetiredAhead: Sendable, Equatable {
        package let kind: String
        package let upTo: Timestamp
    }

    /// Whether a worker runs.
    package var hasWorker: Bool { processes.hasWorker }

    /// The limit of each count.
    package static let most = WaitingBacklog.most

    /// The largest groups first.
    ///
    /// A delivery that is being sent is included only if it was deferred or retried before, with the end of its lease.
    package let owed: [DueDeliveries]
    /// The number of open deliveries that are overdue for so long that apparently no scheduler releases them.
    package let overdue: Int
    /// The backlogs, by name.
    package let backlogs: [WaitingBacklog]
    package let planned: Planned
    package let fanouts: Fanouts
    /// The largest groups first.
    package let deadLetters: [DeadLetters]
    /// The open breakers, ordered by app.
    package let breakers: [OpenBreaker]
    /// The operators' holds, the oldest first.
    package let holds: [OperatorHold]
    /// Replays that wait for an operator.
    package let pausedReplays: [PausedReplay]
    /// The processes with a heartbeat in the last half minute.
    package let processes: [LiveProcess]
    /// The deliveries in retry tiers by outlet, if a provider fails or has recovered lately; otherwise empty.
    package let retries: [WaitingRetries]
    /// The deliveries that wait as long as their provider has requested, by outlet, under the same condition.
    package let limited: [WaitingRetries]
    /// The processes whose heartbeats have stopped without an orderly end.
    package let silentProcesses: [LiveProcess]
    /// The cause that their silence has in common, so that no single process is to blame; `nil` without one.
    package let commonSilence: CommonSilence?
    /// Retention times that are in the future, as a wrong clock leaves them behind.
    package let retiredAhead: [RetiredAhead]

    /// Reads all parts, each with a separate statement.
    package init(of pool: PostgresPool) async throws(PostgresError) {
        let owedRows = try await pool.run(Self.owedStatement, [])
        let plannedRows = try await pool.run(Self.plannedStatement, [])
        let letterRows = try await pool.run(Self.deadLetterStatement, [])
        owed = try owedRows.map { (rows, row) throws(PostgresError) in
            DueDeliveries(
                state: try rows.text(row, 0),
                reason: try rows.optionalText(row, 1),
                count: try rows.number(row, 2),
                oldestDue: try rows.instant(row, 3),
                latestDue: try rows.instant(row, 5)
            )
        }
        backlogs = try await WaitingBacklog.all(on: pool)
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
        breakers = try await OpenBreaker.all(on: pool)
        holds = try await OperatorHold.all(on: pool)
        let heartbeats = HeartbeatStore(pool: pool)
        processes = try await heartbeats.all()
        silentProcesses = try await heartbeats.silent()
        commonSilence = silentProcesses.isEmpty ? nil : try await CommonSilence(of: pool)
        let hasOutages = processes.contains { seen in
            !seen.report.troubles.isEmpty || seen.report.takings.contains { $0.recoveredAt != nil }
        }
        retries = hasOutages ? try await RetryStore(pool: pool).waiting(atMost: RetryStore.mostInOverview) : []
        limited = hasOutages ? try await RetryStore(pool: pool).limited(atMost: RetryStore.mostInOverview) : []
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

    private static func fanouts(_ pool: PostgresPool) async throws(PostgresError) -> Fanouts {
        let groups = try await FanoutStatistics(of: pool).groups
        var open = FanoutFilter()
        open.states = FanoutState.open
        let admin = FanoutAdmin(pool: pool)
        let latest = groups.isEmpty ? [] : try await admin.latest(open, atMost: shown, counting: most)
        let count = { (state: FanoutState) in groups.filter { $0.state == state }.map(\.count).reduce(0, +) }
        let paused = count(.paused)
        open.states = [.paused]
        return Fanouts(
            running: count(.running),
            paused: paused,
            latest: latest,
            latestPaused: paused == 0 ? [] : try await admin.latest(open, atMost: shown, counting: most)
        )
    }

    /// The number of fan-outs that an overview shows.
    private static let shown = 5

    /// The sweeper releases due deliveries within seconds, and stranded ones after five minutes.
    ///
    /// After ten minutes, a delivery is overdue. A delivery that is being sent may still have the reason of its former
    /// wait, which does not apply any longer.
    private static let owedStatement = Statement(
        """
        SELECT state, reason, count(*), min(due_at), count(*) FILTER (WHERE due_at < now() - interval '10 min'), max(due_at)
        FROM (
            SELECT delivery_state(state) AS state, due_at,
                CASE WHEN delivery_state(state) <> 'sending' THEN reason END AS reason
            FROM ledger
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

/// The values of the metrics for open work in the ledger: the age of its oldest deliveries.
///
/// Each value is the first entry of an index, so that the cost does not depend on the amount of work.
package struct BacklogAges: Sendable {
    /// The deliveries that wait for one outlet, or for one platform or type of it.
    package struct Backlog: Sendable, Equatable {
        package let name: String
        /// The seconds since the first of them was recorded.
        package let age: Double
    }

    /// For each priority, the seconds since its first due and unreleased delivery became due.
    ///
    /// A priority without due deliveries has no entry.
    package let overdue: [Priority: Double]
    package let backlogs: [Backlog]

    package init(of pool: PostgresPool) async throws(PostgresError) {
        let first = try await pool.run(Self.firstDue, [])
        var overdue: [Priority: Double] = [:]
        for row in 0..<first.count {
            guard let age = try first.optionalDouble(row, 1), age > 0 else { continue }
            overdue[Priority(urgency: try first.integer(row, 0))] = age
        }
        self.overdue = overdue
        backlogs = try await pool.run(Self.firstInLine, []).map { (rows, row) throws(PostgresError) in
            Backlog(name: try rows.text(row, 0), age: max(0, try rows.optionalDouble(row, 1) ?? 0))
        }
    }

    private static let firstDue = Statement(
        """
        SELECT u.urgency::bigint, extract(epoch FROM now() - f.due_at)::double precision
        FROM unnest(ARRAY[0, 1, 2]) AS u (urgency)
        CROSS JOIN LATERAL (
            SELECT d.due_at FROM ledger d WHERE d.urgency = u.urgency AND d.due_at IS NOT NULL AND d.sent_at IS NULL
            ORDER BY d.due_at LIMIT 1
        ) AS f
        """,
        effect: .reads
    )

    private static let firstInLine = Statement(
        """
        WITH \(WaitingBacklog.loose)
        SELECT n.outlet, extract(epoch FROM now() - o.oldest)::double precision
        FROM names n \(WaitingBacklog.oldest)
        WHERE n.outlet IS NOT NULL AND o.oldest IS NOT NULL
        """,
        effect: .reads
    )
}
