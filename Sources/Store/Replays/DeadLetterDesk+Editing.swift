import BellhopRules
package import Postgres

/// What came of handing in a corrected copy.
package enum EditOutcome: Sendable, Equatable {
    /// A replay of this number sends the copy.
    case sent(replay: Int64)
    /// The original is not open any more: somebody else was faster.
    case notOpen
}

extension DeadLetterDesk {
    /// Files the corrected copy of an item, has a replay send it, and marks the original as resolved by it, all at once.
    ///
    /// The copy is an item of its own with the history of its own deaths; `changes` says which places of the body differ,
    /// without their values.
    package func hand(
        in copy: DeadLetterItem,
        correcting original: String,
        changes: String,
        by desk: DeskOperator
    ) async throws(PostgresError) -> EditOutcome {
        try await pool.transaction { (connection) throws(PostgresError) in
            let resolved = try connection.run(
                Self.resolveOriginal,
                [
                    .text(original), .text("edited: \(copy.deadID)"), .text(desk.name),
                    .text("\(desk.because) (\(changes))"),
                ]
            )
            guard !resolved.isEmpty else { return .notOpen }
            _ = try connection.run(DeadLetterBook.insert, DeadLetterBook.parameters(of: [copy]))
            let filter: JSONObject = ["items": [.string(copy.deadID)]]
            let begun = try connection.run(
                Self.sendCopy,
                [
                    .text(copy.deadID), .text(original), .json(filter.jsonBytes), .text(desk.name), .text(desk.because),
                    .integer(Int64(ReplayOrder.Pace().pauseShare)),
                ]
            )
            return .sent(replay: try begun.integer(0, 0))
        }
    }

    private static let resolveOriginal = Statement(
        """
        WITH resolved AS (
            UPDATE dead_letters SET state = 'resolved', resolution = $2, changed_at = now()
            WHERE dead_id = $1 AND state = 'open'
            RETURNING dead_id
        )
        INSERT INTO dead_letter_history (dead_id, kind, operator, words)
        SELECT dead_id, 'edited', $3::text, $4::text FROM resolved
        RETURNING number
        """
    )

    /// Its first failure is that of the original, so that the horizon of replays counts from there.
    private static let sendCopy = Statement(
        """
        WITH made AS (
            INSERT INTO replays (filter, operator, because, items, pause_share) VALUES ($3, $4, $5, 1, $6::integer)
            RETURNING id
        ), listed AS (
            INSERT INTO replay_items (replay_id, position, dead_id) SELECT id, 1, $1::text FROM made
        ), audited AS (
            INSERT INTO audit (operator, act, filter, items, because, replay_id)
            SELECT $4, 'edit', jsonb_build_object('items', jsonb_build_array($2::text)), 1, $5, id FROM made
        ), held AS (
            UPDATE dead_letters d
            SET state = 'replaying', replay_id = made.id, edited_from = $2,
                first_failed_at = (SELECT first_failed_at FROM dead_letters WHERE dead_id = $2)
            FROM made WHERE d.dead_id = $1
        )
        SELECT id FROM made
        """
    )
}
