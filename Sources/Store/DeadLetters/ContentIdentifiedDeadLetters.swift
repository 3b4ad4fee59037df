import BellhopRules
import Postgres

/// Stores dead letters whose items are identified by their content: messages that the broker dead-lettered, or that an
/// operator put into the queue.
///
/// Each dead letter that the broker delivers for the first time is a death, counted in `copies`. It reopens its item if
/// the item was closed. A redelivered one may be stored already. An item therefore has at least as many copies as
/// redelivered dead letters of one batch.
enum ContentIdentifiedDeadLetters {
    /// - Returns: The number of new items.
    static func file(
        _ letters: [DeadLetterItem],
        _ connection: PostgresConnection
    ) throws(PostgresError) -> Int {
        guard !letters.isEmpty else { return 0 }
        let deaths = Dictionary(grouping: letters, by: \.deadID).compactMap { Deaths($0.key, $0.value) }.sorted {
            $0.id < $1.id
        }
        let known = try count(deaths, connection)
        let others = deaths.filter { !known.contains($0.id) }
        guard !others.isEmpty else { return 0 }
        let inserted = try connection.run(
            DeadLetterStore.insert,
            DeadLetterStore.parameters(of: others.map(\.latest))
        )
        let new = Set(try inserted.texts())
        let several = others.filter { new.contains($0.id) && $0.all > 1 }
        if !several.isEmpty {
            _ = try connection.run(
                setCopies,
                [.textArray(several.map(\.id)), .integerArray(several.map { Int64($0.all) })]
            )
        }
        // Another filer has stored the same content meanwhile.
        let overtaken = others.filter { !new.contains($0.id) }
        if !overtaken.isEmpty { _ = try count(overtaken, connection) }
        return new.count
    }

    /// The dead letters of one batch with the same id.
    private struct Deaths {
        let id: String
        let latest: DeadLetterItem
        /// The number of dead letters that were not redelivered, and are therefore not stored yet.
        let fresh: Int
        let all: Int

        init?(_ id: String, _ letters: [DeadLetterItem]) {
            guard let latest = letters.max(by: { $0.failedAt < $1.failedAt }) else { return nil }
            self.id = id
            self.latest = latest
            fresh = letters.count { !$0.redelivered }
            all = letters.count
        }
    }

    private static func count(
        _ deaths: [Deaths],
        _ connection: PostgresConnection
    ) throws(PostgresError) -> Set<String> {
        let rows = try connection.run(
            countDeaths,
            [
                .textArray(deaths.map(\.id)), .integerArray(deaths.map { Int64($0.fresh) }),
                .integerArray(deaths.map { Int64($0.all - $0.fresh) }),
                .instantArray(deaths.map(\.latest.failedAt.microseconds)),
            ]
        )
        return Set(try rows.texts())
    }

    /// A reopened item gets the time of the new death as its first failure, since earlier failures were resolved.
    ///
    /// The history contains the earlier one.
    ///
    /// An item in a replay stays there: the replay sends the same content.
    private static let countDeaths = Statement(
        """
        WITH letter AS (
            SELECT * FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::timestamptz[])
                AS l (dead_id, fresh, again, failed_at)
        ), filed AS MATERIALIZED (
            SELECT d.dead_id, d.state, d.reason, d.error, d.last_failed_at, l.fresh, l.again, l.failed_at,
                   l.fresh > 0 AND d.state IN ('resolved', 'discarded') AS opens
            FROM letter l JOIN dead_letters d ON d.dead_id = ANY (ARRAY[l.dead_id])
            ORDER BY l.dead_id
            FOR UPDATE OF d
        ), remembered AS (
            INSERT INTO dead_letter_history (dead_id, at, kind, words)
            SELECT dead_id, last_failed_at, 'died', reason || ': ' || error FROM filed WHERE opens
        )
        UPDATE dead_letters d SET
            copies = least(greatest(d.copies, f.again) + f.fresh, 2147483647),
            last_failed_at = CASE WHEN f.fresh > 0 THEN greatest(d.last_failed_at, f.failed_at) ELSE d.last_failed_at END,
            first_failed_at = CASE WHEN f.opens THEN f.failed_at ELSE d.first_failed_at END,
            state = CASE WHEN f.opens THEN 'open' ELSE d.state END,
            resolution = CASE WHEN f.opens THEN NULL ELSE d.resolution END,
            exported_at = CASE WHEN f.opens THEN NULL ELSE d.exported_at END,
            changed_at = CASE WHEN f.opens THEN now() ELSE d.changed_at END
        FROM filed f WHERE d.dead_id = ANY (ARRAY[f.dead_id])
        RETURNING d.dead_id
        """
    )

    private static let setCopies = Statement(
        """
        UPDATE dead_letters d SET copies = least(l.copies, 2147483647)
        FROM unnest($1::text[], $2::bigint[]) AS l (dead_id, copies)
        WHERE d.dead_id = ANY (ARRAY[l.dead_id])
        """
    )
}
