import BellhopRules
package import Postgres

/// The tables `replays` and `replay_items`, as used by operators to start, watch, pause and cancel replays.
package struct ReplayAdmin: Sendable {
    let pool: PostgresPool

    /// - Parameter pool: A pool with the rights of an admin.
    package init(pool: PostgresPool) {
        self.pool = pool
    }

    /// Returns the items that an order would take.
    package func survey(_ order: ReplayOrder) async throws(PostgresError) -> ReplaySurvey {
        let eligible = try await DeadLetterAdmin(pool: pool).count(order.eligible)
        var left = order.filter.condition
        let perItem = left.bind(.integer(Int64(order.limits.perItem)))
        let since = left.bind(.instant(order.limits.failedSince.microseconds))
        let rows = try await pool.run(
            Statement(
                """
                SELECT count(*) FILTER (WHERE d.first_failed_at < \(since)),
                       count(*) FILTER (WHERE d.first_failed_at >= \(since) AND d.replays >= \(perItem)),
                       count(*) FILTER (WHERE d.first_failed_at >= \(since) AND d.replays < \(perItem)
                                          AND \(TruncatedBody.condition))
                FROM dead_letters d WHERE \(left.sql)
                """,
                effect: .reads
            ),
            left.parameters
        )
        return ReplaySurvey(
            eligible: eligible,
            tooOften: try rows.number(0, 1),
            tooOld: try rows.number(0, 0),
            cut: try rows.number(0, 2)
        )
    }

    /// Fixes the set of items and starts the replay.
    ///
    /// From then on a scheduler runs it, independently of the caller.
    ///
    /// Replays start one at a time, so that no two contain the same item. If another replay contains some of the items,
    /// it is reported, and the remaining items are not replayed.
    package func start(
        _ order: ReplayOrder,
        agreed: Int,
        by operator: ActingOperator
    ) async throws(PostgresError) -> ReplayStart {
        try await pool.transaction { (connection) throws(PostgresError) in
            _ = try connection.run(Self.lockStarts, [])
            if let id = try Self.holder(of: order.filter, connection) { return .overlaps(id: id) }
            return try Self.freeze(order, agreed, `operator`, connection)
        }
    }

    /// Returns a replay that contains some of the matching items; `nil` if there is none.
    package func holder(of filter: DeadLetterFilter) async throws(PostgresError) -> Int64? {
        try await pool.withConnection { (connection) throws(PostgresError) in
            try Self.holder(of: filter, connection)
        }
    }

    private static func holder(
        of filter: DeadLetterFilter,
        _ connection: PostgresConnection
    ) throws(PostgresError) -> Int64? {
        let overlap = filter.with(state: .replaying).condition
        let held = try connection.run(
            Statement(
                "SELECT d.replay_id FROM dead_letters d WHERE \(overlap.sql) AND d.replay_id IS NOT NULL LIMIT 1",
                effect: .reads
            ),
            overlap.parameters
        )
        return held.isEmpty ? nil : try held.integer(0, 0)
    }

    private static func freeze(
        _ order: ReplayOrder,
        _ agreed: Int,
        _ operator: ActingOperator,
        _ connection: PostgresConnection
    ) throws(PostgresError) -> ReplayStart {
        var piece = order.eligible.lockedSelection(of: "d.dead_id, d.last_failed_at")
        let agreedTo = piece.bind(.integer(Int64(agreed)))
        let name = piece.bind(.text(`operator`.name))
        let because = piece.bind(.text(`operator`.because))
        let filter = piece.bind(.json(order.filter.json.canonicalBytes))
        let rate = piece.bind(order.pace.rate.map { .integer(Int64($0)) } ?? .null)
        let ramp = piece.bind(order.pace.isRamped ? .integer(1) : .null)
        let share = piece.bind(.integer(Int64(order.pace.pauseShare)))
        let begin = piece.bind(order.pace.notBefore.map { .instant($0.microseconds) } ?? .null)
        let sql = """
            WITH chosen AS MATERIALIZED (\(piece.sql)), size AS (SELECT count(*) AS items FROM chosen),
            made AS (
                INSERT INTO replays (filter, operator, because, items, rate, ramp, pause_share, not_before)
                SELECT \(filter)::jsonb, \(name)::text, \(because)::text, items, \(rate)::integer, \(ramp)::integer,
                       \(share)::integer, \(begin)::timestamptz
                FROM size WHERE items BETWEEN 1 AND \(agreedTo)::bigint
                RETURNING id
            ), frozen AS (
                INSERT INTO replay_items (replay_id, position, dead_id)
                SELECT made.id, row_number() OVER (ORDER BY c.last_failed_at, c.dead_id), c.dead_id FROM chosen c, made
            ), held AS (
                UPDATE dead_letters d SET state = 'replaying', replay_id = made.id, changed_at = now()
                FROM chosen c, made WHERE d.dead_id = c.dead_id
            ), audited AS (
                INSERT INTO audit (operator, act, filter, items, because, replay_id)
                SELECT \(name), \(AuditAct.replay.sql), \(filter), items, \(because), made.id FROM size, made
            )
            SELECT items, (SELECT id FROM made) FROM size
            """
        let rows = try connection.run(Statement(sql), piece.parameters)
        let items = try rows.number(0, 0)
        guard items > 0 else { return .nothingToDo }
        guard let id = try rows.optionalInteger(0, 1) else { return .moreThanAgreed(items: items) }
        return .started(id: id, items: items)
    }

    /// Returns a replay's progress; `nil` if the number is unknown.
    package func progress(of id: Int64) async throws(PostgresError) -> ReplayProgress? {
        try await pool.transaction { (connection) throws(PostgresError) in
            try connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            return try ReplayProgress.read(id, connection)
        }
    }

    /// Returns the latest items of a replay that failed again or were rejected, at most `limit`.
    package func failures(of id: Int64, atMost limit: Int) async throws(PostgresError) -> [ReplayFailure] {
        try await pool.run(Self.failures, [.integer(id), .integer(Int64(limit))]).map(ReplayFailure.init)
    }

    /// Returns the replays that have not ended, then the latest others.
    package func latest(atMost limit: Int) async throws(PostgresError) -> [ReplayEntry] {
        try await pool.run(Self.latest, [.integer(Int64(limit))]).map { (rows, row) throws(PostgresError) in
            ReplayEntry(
                replay: try ReplayRecord(rows, row),
                settled: try rows.number(row, "settled"),
                left: try rows.number(row, "left_unsent")
            )
        }
    }

    /// An operator's action on a replay that has begun.
    package enum Control: String, Sendable {
        case pause, resume, cancel

        fileprivate var act: AuditAct {
            switch self {
            case .pause: .pause
            case .resume: .resume
            case .cancel: .cancel
            }
        }

        fileprivate var change: String {
            switch self {
            case .pause: "state = 'paused', pause_reason = 'by ' || $2::text"
            case .resume: "state = 'running', pause_reason = NULL, resumed_at = now()"
            case .cancel: "state = 'cancelled'"
            }
        }

        fileprivate var acceptedStates: String {
            switch self {
            case .pause: "('running')"
            case .resume: "('paused')"
            case .cancel: "('running', 'paused')"
            }
        }
    }

    /// Applies the action and records it in the audit; false if the replay's state does not permit it.
    ///
    /// When a replay is cancelled, its unsent items are open again immediately. So are messages without a report, since
    /// a purged queue returns none; a later report still resolves the open item. Deliveries that were sent complete in
    /// the ledger.
    package func control(
        _ id: Int64,
        _ control: Control,
        by operator: ActingOperator
    ) async throws(PostgresError) -> Bool {
        try await pool.transaction { (connection) throws(PostgresError) in
            let changed = try connection.run(
                Statement(
                    """
                    WITH changed AS (
                        UPDATE replays SET \(control.change)
                        WHERE id = $1 AND finished_at IS NULL AND state IN \(control.acceptedStates)
                        RETURNING id, filter
                    )
                    INSERT INTO audit (operator, act, filter, items, because, replay_id)
                    SELECT $2::text, \(control.act.sql), filter,
                           (SELECT count(*) FROM replay_items i WHERE i.replay_id = changed.id AND i.state = 'waiting'),
                           $3::text, id
                    FROM changed
                    RETURNING number
                    """
                ),
                [.integer(id), .text(`operator`.name), .text(`operator`.because)]
            )
            guard !changed.isEmpty else { return false }
            if control == .cancel { _ = try connection.run(Self.reopen, [.integer(id)]) }
            return true
        }
    }

    /// Changes the rate of a replay that has not ended, and records it in the audit; false if it has ended.
    ///
    /// The scheduler that runs the replay uses the new rate within a second.
    package func setRate(_ id: Int64, _ rate: Int, by operator: ActingOperator) async throws(PostgresError) -> Bool {
        let parameters: [Parameter] = [
            .integer(id), .text(`operator`.name), .text(`operator`.because), .integer(Int64(rate)),
        ]
        return try await !pool.run(Self.setRate, parameters).isEmpty
    }

    private static let setRate = Statement(
        """
        WITH changed AS (
            UPDATE replays SET rate = $4::bigint::integer WHERE id = $1 AND finished_at IS NULL
                AND state IN ('running', 'paused')
            RETURNING id, filter
        )
        INSERT INTO audit (operator, act, filter, items, because, replay_id)
        SELECT $2::text, \(AuditAct.rate.sql), filter || jsonb_build_object('rate', $4::bigint),
               (SELECT count(*) FROM replay_items i WHERE i.replay_id = changed.id AND i.state = 'waiting'), $3::text, id
        FROM changed
        RETURNING number
        """
    )

    /// Adds an audit entry with a reason that was not known at the time of the act.
    package func note(_ id: Int64, by operator: ActingOperator) async throws(PostgresError) {
        _ = try await pool.run(Self.note, [.integer(id), .text(`operator`.name), .text(`operator`.because)])
    }

    private static let note = Statement(
        """
        INSERT INTO audit (operator, act, filter, items, because, replay_id)
        SELECT $2::text, \(AuditAct.replayNote.sql), filter, 1, $3::text, id FROM replays WHERE id = $1
        """
    )

    private static let lockStarts = Statement(
        "SELECT pg_advisory_xact_lock(hashtextextended(current_schema() || ' replays', 0)) IS NULL"
    )

    /// The detail of a repeated failure is its reason; the error text is stored with the item.
    private static let failures = Statement(
        """
        SELECT i.dead_id, i.outcome, coalesce(nullif(i.detail, d.reason), d.error), d.reason, i.settled_at
        FROM replay_items i JOIN dead_letters d ON d.dead_id = i.dead_id
        WHERE i.replay_id = $1 AND i.state = 'settled'
          AND i.outcome IN (\(ReplayOutcome.list { $0.isFailure || $0 == .tooOld }))
        ORDER BY i.settled_at DESC, i.position DESC LIMIT $2
        """,
        effect: .reads
    )

    private static let latest = Statement(
        """
        SELECT \(ReplayRecord.columns), CASE WHEN r.finished_at IS NOT NULL THEN r.items ELSE (
                   SELECT count(*) FROM replay_items i WHERE i.replay_id = r.id AND i.state = 'settled'
               ) END AS settled,
               CASE WHEN r.state <> 'cancelled' THEN 0 ELSE (
                   SELECT count(*) FROM replay_items i
                   WHERE i.replay_id = r.id AND i.state = 'settled' AND i.outcome = 'cancelled'
               ) END AS left_unsent
        FROM replays r ORDER BY r.finished_at IS NOT NULL, r.id DESC LIMIT $1
        """,
        effect: .reads
    )

    private static let reopen = Statement(
        """
        WITH held AS MATERIALIZED (
            SELECT i.position, i.dead_id, i.state FROM replay_items i
            WHERE i.replay_id = $1 AND (i.state = 'waiting' OR i.state = 'sent' AND EXISTS (
                SELECT FROM dead_letters d WHERE d.dead_id = i.dead_id AND d.notification_id IS NULL
            ))
            ORDER BY i.position
            FOR UPDATE OF i
        ), settled AS (
            UPDATE replay_items i
            SET state = 'settled', settled_at = now(),
                outcome = CASE h.state WHEN 'waiting' THEN 'cancelled' ELSE 'unknown' END
            FROM held h WHERE i.replay_id = $1 AND i.position = h.position
        )
        UPDATE dead_letters d
        SET state = 'open', replay_id = NULL, changed_at = now(),
            replays = d.replays + (h.state = 'sent')::integer
        FROM held h WHERE d.dead_id = h.dead_id AND d.replay_id = $1 AND d.state = 'replaying'
        """
    )
}

extension ReplayProgress {
    static func read(_ id: Int64, _ connection: PostgresConnection) throws(PostgresError) -> ReplayProgress? {
        let record = try connection.run(one, [.integer(id)])
        guard !record.isEmpty else { return nil }
        let counts = try connection.run(counts, [.integer(id)])
        var (waiting, underWay) = (0, 0)
        var outcomes: [ReplayOutcome: Int] = [:]
        var (lately, settledAt): (Int, Timestamp?) = (0, nil)
        for row in counts.indices {
            let count = try counts.number(row, 2)
            switch try counts.text(row, 0) {
            case "waiting": waiting = count
            case "sent": underWay = count
            default:
                guard let outcome = try counts.optionalText(row, 1).flatMap(ReplayOutcome.init(rawValue:)) else {
                    continue
                }
                outcomes[outcome] = count
                lately += try counts.number(row, 3)
                settledAt = [settledAt, try counts.timestamp(row, 4)].compactMap { $0 }.max()
            }
        }
        return ReplayProgress(
            replay: try ReplayRecord(record, 0),
            waiting: waiting,
            underWay: underWay,
            outcomes: outcomes,
            settledLately: lately,
            settledAt: settledAt
        )
    }

    private static let one = Statement(
        "SELECT \(ReplayRecord.columns) FROM replays r WHERE r.id = $1",
        effect: .reads
    )

    private static let counts = Statement(
        """
        SELECT state, outcome, count(*),
               count(*) FILTER (WHERE settled_at > now() - interval '\(ReplayProgress.latestSpan.components.seconds) s'),
               max(settled_at)
        FROM replay_items WHERE replay_id = $1 GROUP BY state, outcome
        """,
        effect: .reads
    )
}
