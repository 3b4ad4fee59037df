import BellhopRules
import Postgres

/// Applies `notification.read`.
///
/// An older update never reverts reading, and a repeat changes nothing, so no timestamp is stored. Reads through the
/// inbox API (`InboxAction`) are serialised with this statement, since two statements that lock rows in different
/// orders would deadlock.
enum ReadingFeed {
    static func read(_ words: [UserUpdate<ReadUpdate.Selection>], on connection: PostgresConnection)
        throws(PostgresError)
    {
        let readers = words.map { ($0.app.text, $0.user.text) }
        _ = try connection.run(takeTurns, [.textArray(readers.map(\.0)), .textArray(readers.map(\.1))])
        var named: [(app: String, user: String, id: Int64)] = []
        var whole: [(app: String, user: String, until: Int64)] = []
        for word in words {
            switch word.content {
            case .named(let ids): named += ids.map { (word.app.text, word.user.text, $0.number) }
            case .all(let until):
                whole.append((word.app.text, word.user.text, (until ?? word.saidAt).microseconds))
            }
        }
        if !named.isEmpty {
            let ids = Parameter.integerArray(named.map(\.id))
            _ = try connection.run(one, [.textArray(named.map(\.app)), .textArray(named.map(\.user)), ids])
        }
        if !whole.isEmpty {
            let ends = Parameter.instantArray(whole.map(\.until))
            _ = try connection.run(all, [.textArray(whole.map(\.app)), .textArray(whole.map(\.user)), ends])
        }
    }

    /// Uses the hash of the inbox API.
    private static let takeTurns = Statement(
        """
        SELECT count(pg_advisory_xact_lock(key)) FROM (
            SELECT DISTINCT hashtextextended('inbox ' || app || ' ' || user_id, 1) AS key
            FROM unnest($1::text[], $2::text[]) AS r (app, user_id) ORDER BY key
        ) AS keys
        """
    )

    private static let one = marking(
        "unnest($1::text[], $2::text[], $3::bigint[]) AS r (app, user_id, id)",
        "r.id",
        where: "i.id = ANY (ARRAY[k.id])"
    )

    /// Snoozed notifications do not count as read.
    private static let all = marking(
        "unnest($1::text[], $2::text[], $3::timestamptz[]) AS r (app, user_id, until)",
        "r.until",
        where: "i.created_at <= k.until AND (i.snoozed_until IS NULL OR i.snoozed_until <= now())"
    )

    /// Looks up the users before their rows, so that the rows are found only by their key.
    private static func marking(_ words: String, _ column: String, where condition: String) -> Statement {
        Statement(
            """
            UPDATE inbox i SET read_at = now(), seen_at = coalesce(i.seen_at, now())
            FROM (
                SELECT p.number AS person, \(column)
                FROM \(words) CROSS JOIN LATERAL \(UserKey.number(of: "r")) AS p
                OFFSET 0
            ) AS k
            WHERE i.person = ANY (ARRAY[k.person]) AND i.read_at IS NULL AND \(condition)
            """
        )
    }
}
