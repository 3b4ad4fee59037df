package import BellhopRules
package import Postgres

/// Selects held deliveries: all deliveries of a hold, or those of one event.
package struct HoldSelection: Sendable, Equatable {
    /// The number of the hold.
    ///
    /// After its release the selection is empty.
    package let hold: Int64
    package let scope: HoldScope
    package var event: EventID?
    /// The latest time of recording; `nil` before the first count.
    package var recordedBy: Timestamp?

    package init(_ scope: HoldScope, of hold: Int64, event: EventID? = nil) {
        self.hold = hold
        self.scope = scope
        self.event = event
    }
}

/// The number of selected deliveries and users, with the time of the count.
package struct HoldCount: Sendable, Equatable {
    package let deliveries: Int
    package let users: Int
    package let asOf: Timestamp
}

/// The result of a discard.
package struct DiscardResult: Sendable, Equatable {
    /// The number of discarded deliveries, which are never sent.
    package let done: Int
    /// The number of selected deliveries that still wait, including later and deferred ones.
    package let left: Int
    /// Whether the hold was still in effect at the end.
    package let isHeld: Bool
}

/// An event with deliveries behind a hold.
package struct HeldEvent: Sendable, Equatable {
    package let event: String
    package let type: String
    package let deliveries: Int

    /// The limit of a list.
    package static let most = 20
}

extension HoldAdmin {
    /// The reason in the ledger of discarded deliveries.
    package static let discarded = "discarded"

    /// Counts the selected deliveries.
    ///
    /// Other types in the same backlog are excluded.
    package func count(_ selection: HoldSelection) async throws(PostgresError) -> HoldCount {
        let names = try await names(of: selection.scope)
        let condition = selection.condition(on: .textArray(names))
        let sql = """
            SELECT count(*), count(DISTINCT d.person), now()
            FROM ledger d \(selection.join)
            WHERE d.outlet = ANY ($1::text[]) AND \(condition.sql)
            """
        let rows = try await pool.run(Statement(sql, effect: .reads), condition.parameters)
        return HoldCount(
            deliveries: try rows.number(0, 0),
            users: try rows.number(0, 1),
            asOf: try rows.moment(0, 2)
        )
    }

    /// Returns the events with held deliveries.
    ///
    /// In each backlog at most ``WaitingBacklog/most`` deliveries are read.
    package func events(of scope: HoldScope) async throws(PostgresError) -> [EventID] {
        let names = try await names(of: scope)
        let sql = "SELECT DISTINCT i.event_id \(Self.heldEvents)"
        let parameters: [Parameter] = [.textArray(names), Self.orNull(scope.type?.text)]
        let rows = try await pool.run(Statement(sql, effect: .reads), parameters)
        return try rows.compactMap { (rows, row) throws(PostgresError) in EventID(validating: try rows.text(row, 0)) }
    }

    /// Returns the events with the most held deliveries and their numbers, at most ``HeldEvent/most``.
    ///
    /// In each backlog at most ``WaitingBacklog/most`` deliveries are read, so that the numbers are lower limits above
    /// that.
    package func eventCounts(of scope: HoldScope) async throws(PostgresError) -> [HeldEvent] {
        let parameters: [Parameter] = [.textArray(try await names(of: scope)), Self.orNull(scope.type?.text)]
        return try await pool.run(Self.eventCounts, parameters).map { (rows, row) throws(PostgresError) in
            HeldEvent(
                event: try rows.text(row, 0),
                type: try rows.text(row, 1),
                deliveries: try rows.number(row, 2)
            )
        }
    }

    private static let eventCounts = Statement(
        """
        SELECT i.event_id, min(i.type), count(*)
        \(heldEvents)
        GROUP BY i.event_id ORDER BY count(*) DESC, i.event_id LIMIT \(HeldEvent.most)
        """,
        effect: .reads
    )

    /// The notifications of the deliveries in backlogs, of one type or of all.
    private static let heldEvents = """
        FROM unnest($1::text[]) AS n (outlet)
        CROSS JOIN LATERAL (
            SELECT person, id FROM ledger WHERE outlet = n.outlet AND state = 'w' LIMIT \(WaitingBacklog.most)
        ) AS d
        CROSS JOIN LATERAL (SELECT type, event_id FROM inbox WHERE person = d.person AND id = d.id OFFSET 0) AS i
        WHERE i.type = coalesce($2::text, i.type)
        """

    /// Returns those of the events whose held deliveries an operator has discarded.
    package func discardedEvents(_ events: [String], in app: AppID) async throws(PostgresError) -> Set<String> {
        guard !events.isEmpty else { return [] }
        let rows = try await pool.run(Self.discardedEvents, [.text(app.text), .textArray(events)])
        return Set(try rows.map { (rows, row) throws(PostgresError) in try rows.text(row, 0) })
    }

    private static let discardedEvents = Statement(
        "SELECT DISTINCT event_id FROM discarded_events WHERE app = $1 AND event_id = ANY($2::text[])",
        effect: .reads
    )

    /// Discards held deliveries while the hold is in effect, at most as many as agreed or `most`, and with an event also
    /// its deferred deliveries.
    ///
    /// The notifications stay in the inbox. Deliveries are discarded in steps of a thousand, so that no worker waits
    /// long. A delivery that a worker moves between backlogs is in none for a moment. The search is therefore repeated
    /// at intervals of `pause`, until several searches in a row have found nothing.
    ///
    /// The audit entry is written first, and with it the event as a ``DiscardedEvent``. After an interruption the entry
    /// may state more than was done, but no action is without an entry, and workers end what killed workers had claimed.
    package func discard(
        _ selection: HoldSelection,
        agreed: Int,
        atMost most: Int? = nil,
        by operator: ActingOperator,
        pausing pause: Duration = .milliseconds(500)
    ) async throws(PostgresError) -> DiscardResult {
        let act = try await pool.run(Self.begin, audited(selection, agreed, `operator`))
        guard !act.isEmpty else { return DiscardResult(done: 0, left: 0, isHeld: false) }
        let limit = most ?? agreed
        // Deferred deliveries first: one that becomes due meanwhile reaches the backlog, which is searched afterwards.
        var (done, idleLooks) = (try await discardDeferred(selection, atMost: limit), 0)
        for _ in 0..<Self.mostLooks where done < limit && idleLooks < Self.calmLooks {
            let found = try await sweep(selection, atMost: limit - done)
            done += found
            idleLooks = found == 0 ? idleLooks + 1 : 0
            if done < limit { try? await Task.sleep(for: pause) }
        }
        let end: [Parameter] = [
            .text(`operator`.name), .integer(selection.hold), .integer(try act.integer(0, 0)), .integer(Int64(done)),
            .text(`operator`.because),
        ]
        let isHeld = try await pool.run(Self.addEnd, end).boolean(0, 0)
        var rest = selection
        rest.recordedBy = nil
        let left = isHeld ? try await count(rest).deliveries + countDeferred(rest) : 0
        return DiscardResult(done: done, left: left, isHeld: isHeld)
    }

    /// The maximum number of searches, and the number of searches without results after which the discard ends.
    private static let (mostLooks, calmLooks) = (200, 3)

    /// Discards once in all backlogs that may contain selected deliveries.
    private func sweep(_ selection: HoldSelection, atMost limit: Int) async throws(PostgresError) -> Int {
        var done = 0
        for name in try await names(of: selection.scope) {
            for urgency in Priority.allCases.map(\.urgency) where done < limit {
                done += try await discard(selection, from: name, urgency, atMost: limit - done)
            }
        }
        return done
    }

    private func audited(_ selection: HoldSelection, _ agreed: Int, _ operator: ActingOperator) -> [Parameter] {
        let scope = selection.scope
        return [
            .text(`operator`.name), .text(scope.app.text), Self.orNull(scope.type?.text), Self.orNull(scope.provider),
            Self.orNull(selection.event?.text), .integer(Int64(agreed)), .text(`operator`.because),
            .integer(selection.hold),
        ]
    }

    static func orNull(_ text: String?) -> Parameter { text.map(Parameter.text) ?? .null }

    static let atOnce = 1000

    /// Discards from one priority of a backlog.
    ///
    /// Each step begins where the previous one ended.
    private func discard(
        _ selection: HoldSelection,
        from name: String,
        _ urgency: Int64,
        atMost limit: Int
    ) async throws(PostgresError) -> Int {
        var done = 0
        var since: Int64?
        while done < limit {
            var condition = selection.condition(on: .text(name))
            let priority = condition.bind(.integer(urgency))
            let begin = condition.bind(since.map(Parameter.instant) ?? .null)
            let count = condition.bind(.integer(Int64(min(Self.atOnce, limit - done))))
            condition.sql = """
                SELECT d.person, d.id, d.target, d.queued_at AS place FROM ledger d \(selection.join)
                WHERE d.outlet = $1::text AND d.urgency = \(priority)
                  AND d.queued_at >= coalesce(\(begin)::timestamptz, '-infinity') AND \(condition.sql)
                ORDER BY d.queued_at LIMIT \(count)
                FOR UPDATE OF d SKIP LOCKED
                """
            let rows = try await end(condition, whileHeldBy: selection.hold)
            let found = try rows.number(0, 0)
            guard found > 0 else { break }
            done += found
            since = try rows.timestamp(0, 1)?.microseconds
        }
        return done
    }

    /// Discards the deliveries that a query locks, if the hold is in effect.
    ///
    /// Returns their number and the highest of their places. A release waits for the step in progress, and no step
    /// begins after it.
    func end(_ query: SQLPiece, whileHeldBy number: Int64) async throws(PostgresError) -> Rows {
        var query = query
        let hold = query.bind(.integer(number))
        let sql = """
            WITH standing AS MATERIALIZED (
                SELECT number FROM holds WHERE number = \(hold) FOR KEY SHARE
            ), chosen AS MATERIALIZED (
                SELECT h.* FROM standing CROSS JOIN LATERAL (\(query.sql)) AS h
            ), changed AS (
                UPDATE ledger d
                SET state = 'x', reason = '\(Self.discarded)', outlet = NULL, queued_at = NULL, due_at = NULL,
                    updated_at = now()
                FROM chosen c WHERE d.person = ANY (ARRAY[c.person]) AND d.id = c.id AND d.target = c.target
            )
            SELECT count(*), max(place) FROM chosen
            """
        return try await pool.run(Statement(sql), query.parameters)
    }

    private func names(of scope: HoldScope) async throws(PostgresError) -> [String] {
        try await WorkerStore(pool: pool).backlogNames().filter { name in
            OutletScope(name).map(scope.mayWait) ?? false
        }
    }

    /// Adds the audit entry, or nothing if the hold is no longer in effect, and notes the selected event.
    ///
    /// Noted events of more than 30 days before are deleted: no claim is that old.
    private static let begin = Statement(
        """
        WITH begun AS (
            INSERT INTO audit (operator, act, filter, items, because)
            SELECT $1, \(AuditAct.holdDiscard.sql), jsonb_strip_nulls(jsonb_build_object(
                       'app', $2::text, 'type', $3::text, 'provider', $4::text, 'event', $5::text, 'hold', number)),
                   $6, $7
            FROM holds WHERE number = $8
            RETURNING number, at
        ), old AS (
            DELETE FROM discarded_events WHERE discarded_at < now() - interval '30 days'
        ), noted AS (
            INSERT INTO discarded_events AS d (app, event_id, type, provider, discarded_at)
            SELECT $2, $5, coalesce($3, ''), coalesce($4, ''), at FROM begun WHERE $5 IS NOT NULL
            ON CONFLICT (app, event_id, type, provider)
            DO UPDATE SET discarded_at = greatest(d.discarded_at, excluded.discarded_at)
        )
        SELECT number FROM begun
        """
    )

    /// Adds the result to the audit, and returns whether the hold is in effect.
    private static let addEnd = Statement(
        """
        WITH audited AS (
            INSERT INTO audit (operator, act, filter, items, because)
            VALUES ($1, \(AuditAct.holdDiscarded.sql), jsonb_build_object('hold', $2::bigint, 'act', $3::bigint), $4, $5)
        )
        SELECT EXISTS (SELECT FROM holds WHERE number = $2::bigint)
        """
    )
}

extension HoldSelection {
    /// The join with `inbox`, for conditions on the notification.
    ///
    /// The row is looked up for each delivery; `OFFSET 0` fixes this join order, whatever the planner's statistics are.
    fileprivate var join: String {
        guard scope.type != nil || event != nil else { return "" }
        return """
            CROSS JOIN LATERAL (SELECT type, event_id FROM inbox WHERE person = d.person AND id = d.id OFFSET 0) AS i
            """
    }

    /// The condition on `ledger d` and `inbox i`, after the parameter with the backlogs.
    fileprivate func condition(on backlogs: Parameter) -> SQLPiece {
        var piece = SQLPiece(sql: "", parameters: [backlogs])
        var terms = ["d.state = 'w'"]
        if let type = scope.type { terms.append("i.type = \(piece.bind(.text(type.text)))") }
        if let event { terms.append("i.event_id = \(piece.bind(.text(event.text)))") }
        if let recordedBy {
            terms.append("d.queued_at <= \(piece.bind(.instant(recordedBy.microseconds)))::timestamptz")
        }
        piece.sql = terms.joined(separator: " AND ")
        return piece
    }
}
