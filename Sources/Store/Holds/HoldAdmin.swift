package import Postgres

/// The operators' actions on the table `holds` and on held deliveries.
package struct HoldAdmin: Sendable {
    let pool: PostgresPool

    /// - Parameter pool: A pool with the rights of an admin.
    package init(pool: PostgresPool) {
        self.pool = pool
    }

    /// The result of placing a hold.
    package enum Placing: Sendable, Equatable {
        case placed(OperatorHold)
        /// The same hold exists already; the existing one is returned.
        case isHeld(OperatorHold)
        /// The maximum number of holds is in effect.
        case tooMany
    }

    /// Returns all holds in effect, the oldest first.
    package func all() async throws(PostgresError) -> [OperatorHold] {
        try await OperatorHold.all(on: pool)
    }

    /// Returns the number of deliveries in each backlog that may contain held deliveries of a scope, counted up to
    /// ``WaitingBacklog/most`` each.
    package func backlogs(of scope: HoldScope) async throws(PostgresError) -> [WaitingBacklog] {
        try await WaitingBacklog.all(on: pool).filter { backlog in
            OutletScope(backlog.name).map(scope.mayWait) ?? false
        }
    }

    /// Places a hold and its audit entry.
    package func place(_ scope: HoldScope, by operator: ActingOperator) async throws(PostgresError) -> Placing {
        let parameters: [Parameter] = scope.parameters + [.text(`operator`.name), .text(`operator`.because)]
        let rows = try await pool.run(Self.place, parameters)
        if !rows.isEmpty, let placed = try OperatorHold(rows, 0) { return .placed(placed) }
        return try await all().first { $0.scope == scope }.map { .isHeld($0) } ?? .tooMany
    }

    /// Releases a hold and adds an audit entry; `nil` if the hold is no longer in effect.
    package func release(_ number: Int64, by operator: ActingOperator) async throws(PostgresError) -> OperatorHold? {
        let rows = try await pool.run(
            Self.release,
            [.integer(number), .text(`operator`.name), .text(`operator`.because)]
        )
        return rows.isEmpty ? nil : try OperatorHold(rows, 0)
    }

    /// Adds an audit entry with the reason of a hold that was placed without one, also after its release; false if the
    /// audit has no such hold.
    ///
    /// A hold that is in effect without a reason gets it as well, so that all who see the hold read it.
    package func note(_ number: Int64, by operator: ActingOperator) async throws(PostgresError) -> Bool {
        let parameters: [Parameter] = [
            .integer(number), .text(`operator`.name), .text(`operator`.because), .text(ActingOperator.noReasonYet),
        ]
        return try await !pool.run(Self.note, parameters).isEmpty
    }

    private static let note = Statement(
        """
        WITH held AS (
            UPDATE holds SET because = $3::text WHERE number = $1::bigint AND because = $4::text
        )
        INSERT INTO audit (operator, act, filter, items, because)
        SELECT $2::text, \(AuditAct.holdNote.sql), filter, 1, $3::text FROM (
            SELECT filter FROM audit WHERE act = \(AuditAct.holdAdd.sql) AND filter ->> 'hold' = $1::bigint::text
            ORDER BY number DESC LIMIT 1
        ) AS placed
        RETURNING number
        """
    )

    private static let place = Statement(
        """
        WITH placed AS (
            INSERT INTO holds (app, type, provider, operator, because)
            SELECT $1, $2, $3, $4, $5 WHERE (SELECT count(*) FROM holds) < \(OperatorHold.most)
            ON CONFLICT ON CONSTRAINT holds_scope DO NOTHING
            RETURNING \(OperatorHold.columns)
        ), \(audited(.holdAdd, by: "$4", because: "$5", from: "placed"))
        SELECT \(OperatorHold.columns) FROM placed
        """
    )

    private static let release = Statement(
        """
        WITH ended AS (
            DELETE FROM holds WHERE number = $1 RETURNING \(OperatorHold.columns)
        ), \(audited(.holdRelease, by: "$2", because: "$3", from: "ended"))
        SELECT \(OperatorHold.columns) FROM ended
        """
    )

    /// Returns the part of a statement that adds an audit entry for the holds in a table expression.
    private static func audited(_ act: AuditAct, by name: String, because: String, from holds: String) -> String {
        """
        audited AS (
            INSERT INTO audit (operator, act, filter, items, because)
            SELECT \(name)::text, \(act.sql), jsonb_strip_nulls(jsonb_build_object(
                       'app', app, 'type', nullif(type, ''), 'provider', nullif(provider, ''), 'hold', number)),
                   1, \(because)::text
            FROM \(holds)
        )
        """
    }
}

extension HoldScope {
    fileprivate var parameters: [Parameter] { [.text(app.text), .text(type?.text ?? ""), .text(provider ?? "")] }
}
