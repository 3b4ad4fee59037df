import BellhopRules
package import Postgres

/// The corrected copy of an item.
package struct Correction: Sendable {
    package let copy: DeadLetterItem
    package let original: String
    /// Which places of the body differ, without their values.
    package let changes: String

    package init(_ copy: DeadLetterItem, of original: String, changes: String) {
        self.copy = copy
        self.original = original
        self.changes = changes
    }
}

/// What came of handing in corrected copies.
package enum EditOutcome: Sendable, Equatable {
    /// A replay of this number sends so many of them; of the others the original was not open any more.
    case sent(replay: Int64, items: Int)
    /// No original is open any more: somebody else was faster.
    case notOpen
}

extension DeadLetterDesk {
    /// Files the corrected copies of items, has one replay send them, and marks the originals as resolved by them, all at
    /// once.
    ///
    /// Each copy is an item of its own with the history of its own deaths.
    package func hand(
        in corrections: [Correction],
        by desk: DeskOperator
    ) async throws(PostgresError) -> EditOutcome {
        try await pool.transaction { (connection) throws(PostgresError) in
            let sorted = corrections.sorted { $0.original < $1.original }
            let resolved = Set(
                try connection.run(
                    Self.resolveOriginals,
                    [
                        .textArray(sorted.map(\.original)), .textArray(sorted.map { "edited: \($0.copy.deadID)" }),
                        .text(desk.name), .textArray(sorted.map { "\(desk.because) (\($0.changes))" }),
                    ]
                ).texts()
            )
            let taken = sorted.filter { resolved.contains($0.original) }
            guard !taken.isEmpty else { return .notOpen }
            _ = try connection.run(DeadLetterBook.insert, DeadLetterBook.parameters(of: taken.map(\.copy)))
            let begun = try connection.run(
                Self.sendCopies,
                [
                    .textArray(taken.map(\.copy.deadID)), .textArray(taken.map(\.original)),
                    .json(Self.filter(taken.map(\.copy.deadID))), .json(Self.filter(taken.map(\.original))),
                    .text(desk.name), .text(desk.because), .integer(Int64(ReplayOrder.Pace().pauseShare)),
                ]
            )
            return .sent(replay: try begun.integer(0, 0), items: taken.count)
        }
    }

    private static func filter(_ ids: [String]) -> [UInt8] {
        var filter = DeadLetterFilter()
        filter.ids = ids
        return filter.json.jsonBytes
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

    /// The first failure of each is that of its original, so that the horizon of replays counts from there.
    private static let sendCopies = Statement(
        """
        WITH copies AS MATERIALIZED (
            SELECT * FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS c (copy, original, position)
        ), made AS (
            INSERT INTO replays (filter, operator, because, items, pause_share)
            SELECT $3::jsonb, $5::text, $6::text, count(*), $7::integer FROM copies
            RETURNING id, items
        ), listed AS (
            INSERT INTO replay_items (replay_id, position, dead_id) SELECT m.id, c.position, c.copy FROM made m, copies c
        ), audited AS (
            INSERT INTO audit (operator, act, filter, items, because, replay_id)
            SELECT $5, 'edit', $4::jsonb, items, $6, id FROM made
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
