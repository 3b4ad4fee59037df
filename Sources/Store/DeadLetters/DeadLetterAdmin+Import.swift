package import Postgres

extension DeadLetterAdmin {
    /// Imports items from an export and returns the number of new ones; existing items are not changed.
    ///
    /// Items that were part of a replay at the time of the export are open now.
    package func bringIn(_ letters: [DeadLetterMessage], by desk: ActingOperator) async throws(PostgresError) -> Int {
        guard !letters.isEmpty else { return 0 }
        return try await pool.transaction { (connection) throws(PostgresError) in
            // An export may contain users who have been erased since.
            let spared = try ErasedUserDeadLetters.spare(letters.map(\.item), connection)
            let rows = try connection.run(DeadLetterStore.insert, DeadLetterStore.parameters(of: spared))
            let fresh = Set(try rows.texts())
            let added = letters.map(\.summary).filter { fresh.contains($0.deadID) }
            _ = try connection.run(
                Self.complete,
                [
                    .textArray(added.map(\.deadID)),
                    .textArray(added.map { $0.state == .replaying ? "open" : $0.state.rawValue }),
                    .integerArray(added.map { Int64($0.deaths) }), .integerArray(added.map { Int64($0.replays) }),
                    .instantArray(added.map(\.firstFailedAt.microseconds)), .textArray(added.map(\.resolution)),
                    .text(desk.name), .text(desk.because),
                ]
            )
            return added.count
        }
    }

    private static let complete = Statement(
        """
        WITH letter AS (
            SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[], $5::timestamptz[], $6::text[])
                AS l (dead_id, state, deaths, replays, first_failed_at, resolution)
        ), remembered AS (
            INSERT INTO dead_letter_history (dead_id, kind, operator, words)
            SELECT dead_id, 'imported', $7::text, $8::text FROM letter
        )
        UPDATE dead_letters d
        SET state = l.state, deaths = l.deaths, replays = l.replays, first_failed_at = l.first_failed_at,
            resolution = l.resolution, exported_at = now()
        FROM letter l WHERE d.dead_id = l.dead_id
        """
    )
}
