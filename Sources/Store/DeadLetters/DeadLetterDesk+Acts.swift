import BellhopRules
package import Postgres

/// Who acts at the desk, and why.
package struct DeskOperator: Sendable {
    package let name: String
    package let because: String

    package init(name: String, because: String) {
        self.name = name
        self.because = because
    }
}

/// What can be done to items without sending them anywhere.
package enum DeskAct: String, Sendable {
    /// Sets open items aside.
    case discard
    /// Takes that back.
    case restore
    /// Writes the operator's words to the items' history.
    case note

    /// The states that it can act upon; nil for all.
    package var acceptedState: DeadLetterState? {
        switch self {
        case .discard: .open
        case .restore: .discarded
        case .note: nil
        }
    }

    fileprivate var change: String {
        switch self {
        case .discard: "state = 'discarded', changed_at = now()"
        case .restore: "state = 'open', changed_at = now()"
        case .note: "changed_at = now()"
        }
    }

    fileprivate var kind: String {
        switch self {
        case .discard: "discarded"
        case .restore: "restored"
        case .note: "noted"
        }
    }
}

/// What an act came to.
package enum DeskOutcome: Sendable, Equatable {
    case done(items: Int)
    /// More items are meant than the operator has agreed to; nothing was changed.
    case moreThanAgreed(items: Int)
}

extension DeadLetterDesk {
    /// Acts on every item that is meant, in one statement together with its line in the audit.
    ///
    /// `agreed` is the count that the operator has seen: of more nothing is changed.
    package func perform(
        _ act: DeskAct,
        on filter: DeadLetterFilter,
        agreed: Int,
        by desk: DeskOperator
    ) async throws(PostgresError) -> DeskOutcome {
        try await carryOut(act, on: filter, agreed: agreed, by: desk).outcome
    }

    /// The same, with the number that the act has in the audit, by which it can be undone; nil where nothing was changed.
    package func carryOut(
        _ act: DeskAct,
        on filter: DeadLetterFilter,
        agreed: Int,
        by desk: DeskOperator
    ) async throws(PostgresError) -> (outcome: DeskOutcome, number: Int64?) {
        var piece = filter.lockedSelection(of: "d.dead_id")
        let agreedTo = piece.bind(.integer(Int64(agreed)))
        let name = piece.bind(.text(desk.name))
        let because = piece.bind(.text(desk.because))
        let kept = piece.bind(.json(filter.json.jsonBytes))
        let sql = """
            WITH chosen AS MATERIALIZED (\(piece.sql)), size AS (SELECT count(*) AS items FROM chosen),
            changed AS (
                UPDATE dead_letters d SET \(act.change) FROM chosen c
                WHERE d.dead_id = c.dead_id AND (SELECT items FROM size) <= \(agreedTo)::bigint
                RETURNING d.dead_id
            ), audited AS (
                INSERT INTO audit (operator, act, filter, items, because)
                SELECT \(name)::text, '\(act.rawValue)', \(kept)::jsonb, items, \(because)::text FROM size
                WHERE items <= \(agreedTo) AND items > 0
                RETURNING number
            ), remembered AS (
                INSERT INTO dead_letter_history (dead_id, kind, operator, words, act)
                SELECT c.dead_id, '\(act.kind)', \(name), \(because), a.number FROM changed c, audited a
            )
            SELECT items, (SELECT count(*) FROM changed), (SELECT number FROM audited) FROM size
            """
        let rows = try await pool.run(Statement(sql), piece.parameters)
        let items = try rows.number(0, 0)
        guard items <= agreed else { return (.moreThanAgreed(items: items), nil) }
        return (.done(items: try rows.number(0, 1)), try rows.optionalInteger(0, 2))
    }

    /// One act of the audit; nil where there is none of this number.
    package func auditEntry(_ number: Int64) async throws(PostgresError) -> AuditEntry? {
        try await pool.run(Self.auditEntry, [.integer(number)]).map(AuditEntry.init).first
    }

    /// Writes down an act that changes no item: a look at personal data, an export.
    package func audit(
        _ act: String,
        _ filter: DeadLetterFilter,
        items: Int,
        by desk: DeskOperator
    ) async throws(PostgresError) {
        _ = try await pool.run(
            Self.addAudit,
            [
                .text(desk.name), .text(act), .json(filter.json.jsonBytes), .integer(Int64(items)), .text(desk.because),
            ]
        )
    }

    /// The latest acts, newest first.
    package func auditLog(atMost limit: Int) async throws(PostgresError) -> [AuditEntry] {
        try await pool.run(Self.auditLog, [.integer(Int64(limit))]).map(AuditEntry.init)
    }

    /// Notes which items an export has written out, so that retention may delete them later.
    package func markExported(_ ids: [String]) async throws(PostgresError) {
        _ = try await pool.run("UPDATE dead_letters SET exported_at = now() WHERE dead_id = ANY($1)", [.textArray(ids)])
    }

    private static let addAudit = Statement(
        "INSERT INTO audit (operator, act, filter, items, because) VALUES ($1, $2, $3, $4, $5)"
    )

    private static let auditLog = Statement(
        """
        SELECT \(AuditEntry.columns) FROM audit ORDER BY number DESC LIMIT $1
        """,
        effect: .reads
    )

    private static let auditEntry = Statement(
        """
        SELECT \(AuditEntry.columns) FROM audit WHERE number = $1
        """,
        effect: .reads
    )
}
