package import Postgres

/// The table `holds` as operators act upon it: the hand brake, and what waits behind it.
package struct HoldDesk: Sendable {
    let pool: PostgresPool

    /// - Parameter pool: with the rights of an admin.
    package init(pool: PostgresPool) {
        self.pool = pool
    }

    /// What came of a wish to hold something.
    package enum Placing: Sendable, Equatable {
        case placed(OperatorHold)
        /// The very same is held already, by whoever came first.
        case isHeld(OperatorHold)
        /// As many are in force as may be.
        case tooMany
    }

    /// All that are in force, the first one first.
    package func all() async throws(PostgresError) -> [OperatorHold] {
        try await HoldBook(pool: pool).all()
    }

    /// Keeps something from being sent from now on, together with its line in the audit.
    package func place(_ scope: HoldScope, by desk: DeskOperator) async throws(PostgresError) -> Placing {
        let parameters: [Parameter] = scope.parameters + [.text(desk.name), .text(desk.because)]
        let rows = try await pool.run(Self.place, parameters)
        if !rows.isEmpty, let placed = try OperatorHold(rows, 0) { return .placed(placed) }
        return try await all().first { $0.scope == scope }.map { .isHeld($0) } ?? .tooMany
    }

    /// Ends a hold, together with its line in the audit; nil where it is not in force any more.
    package func release(_ number: Int64, by desk: DeskOperator) async throws(PostgresError) -> OperatorHold? {
        let rows = try await pool.run(
            Self.release,
            [.integer(number), .text(desk.name), .text(desk.because)]
        )
        return rows.isEmpty ? nil : try OperatorHold(rows, 0)
    }

    private static let place = Statement(
        """
        WITH placed AS (
            INSERT INTO holds (app, type, provider, operator, because)
            SELECT $1, $2, $3, $4, $5 WHERE (SELECT count(*) FROM holds) < \(HoldBook.most)
            ON CONFLICT ON CONSTRAINT holds_scope DO NOTHING
            RETURNING \(OperatorHold.columns)
        ), \(audited("hold-add", by: "$4", because: "$5", from: "placed"))
        SELECT \(OperatorHold.columns) FROM placed
        """
    )

    private static let release = Statement(
        """
        WITH ended AS (
            DELETE FROM holds WHERE number = $1 RETURNING \(OperatorHold.columns)
        ), \(audited("hold-release", by: "$2", because: "$3", from: "ended"))
        SELECT \(OperatorHold.columns) FROM ended
        """
    )

    /// The part of a statement that writes down an act upon the holds in a table expression.
    private static func audited(_ act: String, by name: String, because: String, from holds: String) -> String {
        """
        audited AS (
            INSERT INTO audit (operator, act, filter, items, because)
            SELECT \(name)::text, '\(act)', jsonb_strip_nulls(jsonb_build_object(
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
