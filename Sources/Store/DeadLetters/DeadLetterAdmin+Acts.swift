import BellhopRules
package import Postgres

/// An operator's name and reason, for an action on dead letters.
package struct ActingOperator: Sendable {
    package let name: String
    package let because: String

    /// The reason of an act that comes before its reason, until a note supplies it.
    package static let noReasonYet = "no reason given yet"

    package init(name: String, because: String) {
        self.name = name
        self.because = because
    }
}

/// An action on items that sends nothing.
package enum DeadLetterAction: String, Sendable {
    /// Discards open items.
    case discard
    /// Reopens discarded items.
    case restore
    /// Adds the operator's text to the items' history.
    case note

    /// The state to which the action applies; `nil` for all states.
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

    fileprivate var audited: AuditAct {
        switch self {
        case .discard: .discard
        case .restore: .restore
        case .note: .note
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

/// The name of a group, by its latest item.
package struct DeadLetterGroupName: Sendable, Equatable {
    package let reason: String
    package let provider: String?
    package let app: String?
}

/// The result of an action.
package enum DeadLetterActionResult: Sendable, Equatable {
    case done(items: Int)
    /// More items match than the operator has confirmed. Nothing was changed.
    case moreThanAgreed(items: Int)
}

extension DeadLetterAdmin {
    /// Applies an action to every matching item, in one statement with its audit entry.
    ///
    /// `agreed` is the count that the operator has confirmed: if more items match, nothing is changed.
    package func perform(
        _ act: DeadLetterAction,
        on filter: DeadLetterFilter,
        agreed: Int,
        by operator: ActingOperator
    ) async throws(PostgresError) -> DeadLetterActionResult {
        try await carryOut(act, on: filter, agreed: agreed, by: `operator`).outcome
    }

    /// Applies an action like `perform`, and also returns its audit number, by which it can be undone; `nil` if nothing
    /// was changed.
    package func carryOut(
        _ act: DeadLetterAction,
        on filter: DeadLetterFilter,
        agreed: Int,
        by operator: ActingOperator
    ) async throws(PostgresError) -> (outcome: DeadLetterActionResult, number: Int64?) {
        var piece = filter.lockedSelection(of: "d.dead_id")
        let agreedTo = piece.bind(.integer(Int64(agreed)))
        let name = piece.bind(.text(`operator`.name))
        let because = piece.bind(.text(`operator`.because))
        let kept = piece.bind(.json(filter.json.canonicalBytes))
        let sql = """
            WITH chosen AS MATERIALIZED (\(piece.sql)), size AS (SELECT count(*) AS items FROM chosen),
            changed AS (
                UPDATE dead_letters d SET \(act.change) FROM chosen c
                WHERE d.dead_id = c.dead_id AND (SELECT items FROM size) <= \(agreedTo)::bigint
                RETURNING d.dead_id
            ), audited AS (
                INSERT INTO audit (operator, act, filter, items, because)
                SELECT \(name)::text, \(act.audited.sql), \(kept)::jsonb, items, \(because)::text FROM size
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

    /// Returns one action of the audit; `nil` if the number is unknown.
    package func auditEntry(_ number: Int64) async throws(PostgresError) -> AuditEntry? {
        try await pool.run(Self.auditEntry, [.integer(number)]).map(AuditEntry.init).first
    }

    /// Returns the actions with these numbers.
    package func auditEntries(_ numbers: [Int64]) async throws(PostgresError) -> [Int64: AuditEntry] {
        guard !numbers.isEmpty else { return [:] }
        let entries = try await pool.run(Self.auditEntries, [.integerArray(numbers)]).map(AuditEntry.init)
        return Dictionary(entries.map { ($0.number, $0) }, uniquingKeysWith: { first, _ in first })
    }

    /// Returns the names of the groups with these fingerprints, by their latest items.
    package func groupNames(_ fingerprints: [String]) async throws(PostgresError) -> [String: DeadLetterGroupName] {
        guard !fingerprints.isEmpty else { return [:] }
        let rows = try await pool.run(Self.groupNames, [.textArray(fingerprints)])
        var names: [String: DeadLetterGroupName] = [:]
        for row in rows.indices {
            names[try rows.text(row, 0)] = DeadLetterGroupName(
                reason: try rows.text(row, 1),
                provider: try rows.optionalText(row, 2),
                app: try rows.optionalText(row, 3)
            )
        }
        return names
    }

    /// Records an action that changes no item, such as the display of personal data or an export.
    package func audit(
        _ act: AuditAct,
        _ filter: DeadLetterFilter,
        items: Int,
        by operator: ActingOperator
    ) async throws(PostgresError) {
        _ = try await pool.run(
            Self.addAudit,
            [
                .text(`operator`.name), .text(act.rawValue), .json(filter.json.canonicalBytes), .integer(Int64(items)),
                .text(`operator`.because),
            ]
        )
    }

    /// Returns the latest actions that match, newest first.
    package func auditLog(
        _ filter: AuditFilter = AuditFilter(),
        atMost limit: Int
    ) async throws(PostgresError) -> [AuditEntry] {
        let conditions = [filter.operator, filter.act, filter.text].map { $0.map(Parameter.text) ?? .null }
        return try await pool.run(Self.auditLog, [.integer(Int64(limit))] + conditions).map(AuditEntry.init)
    }

    /// Returns the undos and the reasons that were given afterwards, of all actions after the one with this number.
    package func auditReferences(after number: Int64) async throws(PostgresError) -> [AuditEntry] {
        try await pool.run(Self.auditReferences, [.integer(number)]).map(AuditEntry.init)
    }

    /// Marks items as exported, so that retention may delete them later.
    package func markExported(_ ids: [String]) async throws(PostgresError) {
        _ = try await pool.run("UPDATE dead_letters SET exported_at = now() WHERE dead_id = ANY($1)", [.textArray(ids)])
    }

    private static let addAudit = Statement(
        "INSERT INTO audit (operator, act, filter, items, because) VALUES ($1, $2, $3, $4, $5)"
    )

    private static let auditLog = Statement(
        """
        SELECT \(AuditEntry.columns) FROM audit
        WHERE ($2::text IS NULL OR lower(operator) = lower($2::text)) AND ($3::text IS NULL OR act = $3::text)
          AND ($4::text IS NULL OR strpos(lower(because || ' ' || filter::text), lower($4::text)) > 0)
        ORDER BY number DESC LIMIT $1
        """,
        effect: .reads
    )

    private static let auditReferences = Statement(
        """
        SELECT \(AuditEntry.columns) FROM audit
        WHERE number > $1 AND (act LIKE '%-note' OR act IN ('discard', 'restore') AND filter ->> 'act' IS NOT NULL)
        ORDER BY number LIMIT 10000
        """,
        effect: .reads
    )

    private static let auditEntries = Statement(
        "SELECT \(AuditEntry.columns) FROM audit WHERE number = ANY($1::bigint[])",
        effect: .reads
    )

    /// The index on groups begins with the state, so each state is looked up.
    private static let groupNames = Statement(
        """
        SELECT f.fingerprint, d.reason, d.provider, d.app FROM unnest($1::text[]) AS f (fingerprint)
        CROSS JOIN LATERAL (
            SELECT l.* FROM unnest(ARRAY[\(DeadLetterState.list)]) AS s (state)
            CROSS JOIN LATERAL (
                SELECT reason, provider, app, last_failed_at FROM dead_letters
                WHERE state = s.state AND fingerprint = f.fingerprint ORDER BY last_failed_at DESC LIMIT 1
            ) AS l
            ORDER BY l.last_failed_at DESC LIMIT 1
        ) AS d
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
