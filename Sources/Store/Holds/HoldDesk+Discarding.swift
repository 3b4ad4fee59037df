package import BellhopRules
package import Postgres

/// Of what waits behind a hold: all of it, or what came of one event.
package struct HeldSelection: Sendable, Equatable {
    package let scope: HoldScope
    package var event: EventID?
    /// Recorded up to then; nil where nobody has counted it yet.
    package var recordedBy: Timestamp?

    package init(_ scope: HoldScope, event: EventID? = nil) {
        self.scope = scope
        self.event = event
    }
}

/// How much is meant, and by whose clock.
package struct HeldCount: Sendable, Equatable {
    package let deliveries: Int
    package let users: Int
    package let asOf: Timestamp
}

extension HoldDesk {
    /// What stands in the ledger of what was discarded.
    package static let discarded = "discarded"

    /// Counts what waits; lines of other types in a backlog are left out.
    package func count(_ selection: HeldSelection) async throws(PostgresError) -> HeldCount {
        let names = try await names(of: selection.scope)
        var condition = selection.condition(on: .textArray(names))
        condition.sql = "d.outlet = ANY ($1::text[]) AND \(condition.sql)"
        let sql = """
            SELECT count(*), count(DISTINCT d.person), now() FROM ledger d \(selection.join) WHERE \(condition.sql)
            """
        let rows = try await pool.run(Statement(sql, effect: .reads), condition.parameters)
        return HeldCount(
            deliveries: try rows.number(0, 0),
            users: try rows.number(0, 1),
            asOf: try rows.moment(0, 2)
        )
    }

    /// Sees to it that what waits is never sent, and no more of it than was agreed to; the number of deliveries.
    ///
    /// What is recorded in the app stays. It goes a thousand at a time, so that no worker waits for long.
    ///
    /// The audit has it first: an end half-way leaves an act that did less than it says, and none that nobody knows of.
    package func discard(
        _ selection: HeldSelection,
        agreed: Int,
        by desk: DeskOperator
    ) async throws(PostgresError) -> Int {
        let scope = selection.scope
        _ = try await pool.run(
            Self.addAudit,
            [
                .text(desk.name), .text(scope.app.text), Self.orNull(scope.type?.text), Self.orNull(scope.provider),
                Self.orNull(selection.event?.text), .integer(Int64(agreed)), .text(desk.because),
            ]
        )
        var done = 0
        for name in try await names(of: scope) {
            for urgency in Priority.allCases.map(\.urgency) where done < agreed {
                done += try await discard(selection, from: name, urgency, atMost: agreed - done)
            }
        }
        return done
    }

    private static func orNull(_ text: String?) -> Parameter { text.map(Parameter.text) ?? .null }

    private static let atOnce = 1000

    /// From one priority of a backlog, each part beginning where the last one ended.
    private func discard(
        _ selection: HeldSelection,
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
            let sql = """
                WITH chosen AS MATERIALIZED (
                    SELECT d.person, d.id, d.target, d.queued_at FROM ledger d \(selection.join)
                    WHERE d.outlet = $1::text AND d.urgency = \(priority)
                      AND d.queued_at >= coalesce(\(begin)::timestamptz, '-infinity') AND \(condition.sql)
                    ORDER BY d.queued_at LIMIT \(count)
                    FOR UPDATE OF d SKIP LOCKED
                ), changed AS (
                    UPDATE ledger d
                    SET state = 'x', reason = '\(Self.discarded)', outlet = NULL, queued_at = NULL, updated_at = now()
                    FROM chosen c WHERE d.person = ANY (ARRAY[c.person]) AND d.id = c.id AND d.target = c.target
                )
                SELECT count(*), max(queued_at) FROM chosen
                """
            let rows = try await pool.run(Statement(sql), condition.parameters)
            let found = try rows.number(0, 0)
            guard found > 0 else { break }
            done += found
            since = try rows.timestamp(0, 1)?.microseconds
        }
        return done
    }

    private func names(of scope: HoldScope) async throws(PostgresError) -> [String] {
        try await BacklogBook(pool: pool, lease: .zero).names().filter { name in
            OutletPart(name).map(scope.mayWait) ?? false
        }
    }

    private static let addAudit = Statement(
        """
        INSERT INTO audit (operator, act, filter, items, because)
        VALUES ($1, 'hold-discard', jsonb_strip_nulls(jsonb_build_object(
                    'app', $2::text, 'type', $3::text, 'provider', $4::text, 'event', $5::text)), $6, $7)
        """
    )
}

extension HeldSelection {
    /// What it says beside the backlogs needs the notification's own row.
    fileprivate var join: String {
        scope.type == nil && event == nil ? "" : "JOIN inbox i ON i.person = d.person AND i.id = d.id"
    }

    /// The condition on `ledger d` and `inbox i`, behind the parameter that names the backlogs.
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
