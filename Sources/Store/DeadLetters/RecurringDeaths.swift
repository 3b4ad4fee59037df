import BellhopRules
import Postgres

/// Files letters whose items are named by their content: what died at the broker, and what somebody put into the queue.
///
/// Each letter that the broker hands out for the first time is a death, counted in `copies`, and opens its item again if
/// that was set aside. One that was handed out before may be filed already: of those an item has as many copies at least as
/// came in one batch, side by side.
enum RecurringDeaths {
    /// - Returns: how many items are new.
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
            DeadLetterBook.insert,
            DeadLetterBook.parameters(of: others.map(\.latest))
        )
        let new = Set(try inserted.texts())
        let several = others.filter { new.contains($0.id) && $0.all > 1 }
        if !several.isEmpty {
            _ = try connection.run(
                setCopies,
                [.textArray(several.map(\.id)), .integerArray(several.map { Int64($0.all) })]
            )
        }
        // Another clerk has filed the same content meanwhile.
        let overtaken = others.filter { !new.contains($0.id) }
        if !overtaken.isEmpty { _ = try count(overtaken, connection) }
        return new.count
    }

    /// The letters of one batch with one name.
    private struct Deaths {
        let id: String
        let latest: DeadLetterItem
        /// Never handed out before, so not filed.
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

    /// What opens again is as old as the death that opens it, since what had failed before was dealt with; its history tells
    /// the earlier one.
    ///
    /// What a replay holds stays with it: it sends the very same content.
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
