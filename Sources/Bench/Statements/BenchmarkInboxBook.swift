import BellhopRules
import Postgres
import Store

/// Fills the inboxes of a benchmark's users and counts the results.
struct BenchmarkInboxBook: Sendable {
    private let pool: PostgresPool

    /// - Parameter pool: A pool with the rights of the schema's owner, to which row security does not apply.
    init(pool: PostgresPool) {
        self.pool = pool
    }

    /// Writes `count` notifications for each user, with the ids 1, 2, and so on.
    ///
    /// A tenth has high priority and half are read, like an inbox that is opened from time to time.
    func fill(each count: Int) async throws(StoreError) {
        _ = try await pool.run(Self.insert, [.integer(Int64(count))])
        try await pool.withConnection { (connection) throws(StoreError) in
            try connection.execute("VACUUM ANALYZE inbox")
        }
    }

    /// Marks everything as unread again, without badge updates for any device.
    func forgetReading() async throws(StoreError) {
        _ = try await pool.run(Self.forget)
        _ = try await pool.run(Statement("DELETE FROM badge_updates"))
    }

    /// Returns the number of read notifications in a range of ids, over all users.
    func read(from first: Int, through last: Int) async throws(StoreError) -> Int {
        try await pool.run(Self.count, [.integer(Int64(first)), .integer(Int64(last))]).number(0, 0)
    }

    private static let insert = Statement(
        """
        INSERT INTO inbox
            (person, id, created_at, read_at, urgency, content_hash, event_id, type, title, body, link_mobile, link_scheme,
             link_web, data, target_id)
        SELECT p.number, n, now() - interval '30 d' + n * interval '1 min' + p.number * interval '1 ms',
               CASE n % 2 WHEN 0 THEN now() END, CASE n % 10 WHEN 0 THEN 0 ELSE 1 END,
               substring(sha256(n::text::bytea) FOR 16), 'evt_inbox_' || n,
               CASE n % 10 WHEN 0 THEN 'security' ELSE 'transaction_complete' END,
               'Overføring til Kari Nordmann fullført', n || ' kr sendt til Norge',
               '/(tabs)/history?id=tx_' || n, 'drop://transactions/tx_' || n, '/transactions?id=tx_' || n,
               '{"amount":"' || n || ' kr","country":"Norge","recipient":"Kari Nordmann"}', 'tx_' || n
        FROM people p CROSS JOIN generate_series(1, $1::bigint) AS n
        """
    )

    private static let forget = Statement("UPDATE inbox SET read_at = NULL, seen_at = NULL WHERE read_at IS NOT NULL")

    private static let count = Statement(
        "SELECT count(*) FROM inbox WHERE id BETWEEN $1 AND $2 AND read_at IS NOT NULL",
        effect: .reads
    )
}
