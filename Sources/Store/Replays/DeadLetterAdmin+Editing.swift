import BellhopRules
package import Postgres

/// The corrected copy of an item.
package struct Correction: Sendable {
    package let copy: DeadLetterItem
    package let original: String
    /// The changed places of the body, without their values.
    package let changes: String

    package init(_ copy: DeadLetterItem, of original: String, changes: String) {
        self.copy = copy
        self.original = original
        self.changes = changes
    }
}

/// The result of submitting corrected copies.
package enum EditOutcome: Sendable, Equatable {
    /// The replay with this number sends the copies. Copies whose original was no longer open are not included.
    case sent(replay: Int64, items: Int)
    /// No original is open: another operator was faster.
    case notOpen
}

extension DeadLetterAdmin {
    /// Stores the corrected copies of items, starts one replay that sends them, and marks the originals as resolved by
    /// them, in one transaction.
    ///
    /// Each copy is a separate item whose history contains only the copy's deaths. The audit records `selection`, the
    /// filter that the operator has typed (without one, the originals' ids), and `changes`, in words without personal
    /// data.
    package func hand(
        in corrections: [Correction],
        selectedBy selection: DeadLetterFilter? = nil,
        changing changes: [String] = [],
        at pace: ReplayOrder.Pace = ReplayOrder.Pace(),
        by operator: ActingOperator
    ) async throws(PostgresError) -> EditOutcome {
        try await pool.transaction { (connection) throws(PostgresError) in
            let sorted = corrections.sorted { $0.original < $1.original }
            let resolved = Set(
                try connection.run(
                    Self.resolveOriginals,
                    [
                        .textArray(sorted.map(\.original)), .textArray(sorted.map { "edited: \($0.copy.deadID)" }),
                        .text(`operator`.name), .textArray(sorted.map { "\(`operator`.because) (\($0.changes))" }),
                    ]
                ).texts()
            )
            let taken = sorted.filter { resolved.contains($0.original) }
            guard !taken.isEmpty else { return .notOpen }
            _ = try connection.run(DeadLetterStore.insert, DeadLetterStore.parameters(of: taken.map(\.copy)))
            var audited = selection?.json ?? Self.filter(taken.map(\.original))
            if !changes.isEmpty { audited[AuditEntry.changesKey] = .array(changes.map(JSONValue.string)) }
            let begun = try connection.run(
                Self.sendCopies,
                [
                    .textArray(taken.map(\.copy.deadID)), .textArray(taken.map(\.original)),
                    .json(Self.filter(taken.map(\.copy.deadID)).canonicalBytes),
                    .json(audited.canonicalBytes),
                    .text(`operator`.name), .text(`operator`.because), .integer(Int64(pace.pauseShare)),
                    pace.rate.map { .integer(Int64($0)) } ?? .null, pace.isRamped ? .integer(1) : .null,
                ]
            )
            return .sent(replay: try begun.integer(0, 0), items: taken.count)
        }
    }

    private static func filter(_ ids: [String]) -> JSONObject {
        var filter = DeadLetterFilter()
        filter.ids = ids
        return filter.json
    }

    private static let resolveOriginals = Statement(
        """
        WITH resolved AS (
            UPDATE dead_letters d SET state = 'resolved', resolution = c.resolution, changed_at = now()
            FROM unnest($1::text[], $2::text[], $4::text[]) AS c (original, resolution, words)
            WHERE d.dead_id = c.original AND d.state = 'open'
            RETURNING d.dead_id, c.words
        ), remembered AS (
            INSERT INTO dead_letter_history (dead_id, kind, operator, words)
            SELECT dead_id, 'edited', $3::text, words FROM resolved
        )
        SELECT dead_id FROM resolved
        """
    )

    /// The first failure of each copy is that of its original, so that the replay horizon starts there.
    private static let sendCopies = Statement(
        """
        WITH copies AS MATERIALIZED (
            SELECT * FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS c (copy, original, position)
        ), made AS (
            INSERT INTO replays (filter, operator, because, items, pause_share, rate, ramp)
            SELECT $3::jsonb, $5::text, $6::text, count(*), $7::integer, $8::integer, $9::integer FROM copies
            RETURNING id, items
        ), listed AS (
            INSERT INTO replay_items (replay_id, position, dead_id) SELECT m.id, c.position, c.copy FROM made m, copies c
        ), audited AS (
            INSERT INTO audit (operator, act, filter, items, because, replay_id)
            SELECT $5, \(AuditAct.edit.sql), $4::jsonb, items, $6, id FROM made
        ), held AS (
            UPDATE dead_letters d
            SET state = 'replaying', replay_id = m.id, edited_from = c.original,
                first_failed_at = (SELECT o.first_failed_at FROM dead_letters o WHERE o.dead_id = c.original)
            FROM made m, copies c WHERE d.dead_id = c.copy
        )
        SELECT id FROM made
        """
    )
}
